package ec2sim

import (
	"fmt"
	"maps"
	"net/http"
	"time"
)

// noticeOfSpot is how long before its end a spot instance is told of it.
const noticeOfSpot = 2 * time.Minute

// event is an event as EventBridge writes it into a queue.
type event struct {
	Version   string   `json:"version"`
	ID        string   `json:"id"`
	Kind      string   `json:"detail-type"`
	Source    string   `json:"source"`
	Account   string   `json:"account"`
	Time      string   `json:"time"`
	Region    string   `json:"region"`
	Resources []string `json:"resources"`
	Detail    any      `json:"detail"`
}

func (s *Simulator) emit(now time.Time, kind, source string, resources []string, detail any) {
	s.send(now, string(encodeJSON(event{"0", fmt.Sprintf("00000000-0000-4000-a000-%012x", s.world.next()), kind, source,
		s.options.Account, now.UTC().Format(time.RFC3339), s.options.Region, resources, detail})))
}

func (s *Simulator) about(now time.Time, one *instance, kind string, detail map[string]string) {
	detail["instance-id"] = one.ID
	arn := fmt.Sprintf("arn:aws:ec2:%s:%s:instance/%s", s.options.Region, s.options.Account, one.ID)
	s.emit(now, kind, "aws.ec2", []string{arn}, detail)
}

// alive gives a machine of the account that wasn't terminated.
func (s *Simulator) alive(id string) (*instance, error) {
	for _, one := range s.world.instances {
		if one.ID == id && one.endAsked.IsZero() {
			return one, nil
		}
	}
	return nil, fmt.Errorf("the simulated account has no live instance %q", id)
}

// Rebalance recommends to replace an instance; nothing need follow.
func (s *Simulator) Rebalance(id string) error {
	return s.withLive(id, func(now time.Time, one *instance) {
		s.about(now, one, "EC2 Instance Rebalance Recommendation", map[string]string{})
	})
}

// Interrupt takes a spot instance away: the notice comes now, its end two
// minutes later.
func (s *Simulator) Interrupt(id string) error {
	return s.withLive(id, func(now time.Time, one *instance) {
		one.interrupted = now.Add(noticeOfSpot)
		if one.spot != nil {
			one.spot.code, one.spot.updated = "marked-for-termination", now
		}
		s.about(now, one, "EC2 Spot Instance Interruption Warning", map[string]string{"instance-action": "terminate"})
	})
}

// Retire announces that the host of an instance is retired at a moment.
func (s *Simulator) Retire(id string, at time.Time) error {
	return s.withLive(id, func(now time.Time, one *instance) {
		s.emit(now, "AWS Health Event", "aws.health", []string{one.ID}, map[string]any{
			"eventArn": fmt.Sprintf("arn:aws:health:%s::event/EC2/AWS_EC2_INSTANCE_RETIREMENT_SCHEDULED/%s",
				s.options.Region, one.ID),
			"service":           "EC2",
			"eventTypeCode":     "AWS_EC2_INSTANCE_RETIREMENT_SCHEDULED",
			"eventTypeCategory": "scheduledChange",
			"startTime":         at.UTC().Format(http.TimeFormat),
			"eventDescription": []map[string]string{
				{"language": "en_US", "latestDescription": "The instance will be retired."}},
			"affectedEntities": []map[string]string{{"entityValue": one.ID}},
		})
	})
}

func (s *Simulator) withLive(id string, do func(time.Time, *instance)) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	now := s.now()
	s.settle(now)
	one, err := s.alive(id)
	if err != nil {
		return err
	}
	do(now, one)
	return nil
}

// announce sends the state changes of an instance, and ends it where a notice
// has run out. A state that began and ended between two requests isn't sent, as
// an event may be lost.
func (s *Simulator) announce(one *instance, now time.Time) {
	if !one.interrupted.IsZero() && !now.Before(one.interrupted) {
		one.askEnd(one.interrupted, "Server.SpotInstanceTermination",
			"Server.SpotInstanceTermination: Instance was terminated due to spot capacity")
	}
	if state := one.state(now, s.options.Delays).Name; state != one.announced {
		one.announced = state
		if len(s.world.queues) > 0 {
			s.about(now, one, "EC2 Instance State-change Notification", map[string]string{"state": state})
		}
	}
}

// Tag writes tags of a machine, as somebody does who has access to the account.
func (s *Simulator) Tag(id string, tags map[string]string) error {
	return s.withLive(id, func(_ time.Time, one *instance) { maps.Copy(one.tags, tags) })
}
