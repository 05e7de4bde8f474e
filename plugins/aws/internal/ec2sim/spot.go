package ec2sim

import (
	"time"
)

// spotRequest is what an instance on the spot market was asked for with. It is
// one-time: it closes when its instance ends.
type spotRequest struct {
	number           int
	ID, state, code  string
	price            string
	created, updated time.Time
	closes           time.Time // zero: its instance hasn't ended
	instance         *instance
	tags             map[string]string
}

// settle closes a request whose instance has ended.
func (r *spotRequest) settle(now time.Time) {
	if r.state == "active" && !r.closes.IsZero() && !now.Before(r.closes) {
		r.state, r.code, r.updated = "closed", endOfSpot(r.instance), now
	}
}

func (r *spotRequest) sequence() int { return r.number }

func (w *world) addSpot(now time.Time, of *instance, asked wanted) *spotRequest {
	number := w.next()
	one := &spotRequest{number: number, ID: w.id("sir", number), state: "active", code: "fulfilled", created: now,
		updated:  now,
		instance: of, tags: copyTags(asked.tags["spot-instances-request"]),
		price: orElse(asked.maxPrice, asked.kind.OnDemand)}
	w.spots = append(w.spots, one)
	return one
}

type spotRequestsAnswer struct {
	header
	Requests  []spotRequestXML `xml:"spotInstanceRequestSet>item"`
	NextToken string           `xml:"nextToken,omitempty"`
}

type spotRequestXML struct {
	ID           string        `xml:"spotInstanceRequestId"`
	Price        string        `xml:"spotPrice"`
	Type         string        `xml:"type"`
	State        string        `xml:"state"`
	Status       spotStatusXML `xml:"status"`
	Instance     string        `xml:"instanceId,omitempty"`
	Created      string        `xml:"createTime"`
	Product      string        `xml:"productDescription"`
	Tags         []tagXML      `xml:"tagSet>item"`
	Zone         string        `xml:"launchedAvailabilityZone"`
	Interruption string        `xml:"instanceInterruptionBehavior"`
}

type spotStatusXML struct {
	Code    string `xml:"code"`
	Updated string `xml:"updateTime"`
	Message string `xml:"message"`
}

var spotFilters = attributes[*spotRequest]{
	"spot-instance-request-id": func(r *spotRequest) []string { return []string{r.ID} },
	"state":                    func(r *spotRequest) []string { return []string{r.state} },
	"status-code":              func(r *spotRequest) []string { return []string{r.code} },
	"instance-id":              func(r *spotRequest) []string { return []string{r.instance.ID} },
	"launched-availability-zone": func(r *spotRequest) []string {
		return []string{r.instance.subnet.Zone.Name}
	},
}

func (s *Simulator) pickSpots(ids []string) ([]*spotRequest, *apiError) {
	return pick(ids, s.world.spots, func(r *spotRequest) string {
		return r.ID
	}, "sir-", "InvalidSpotInstanceRequestID", "spot instance request")
}

func (s *Simulator) describeSpotInstanceRequests(_ time.Time, request form) (answer, *apiError) {
	named, refusal := s.pickSpots(request.texts("SpotInstanceRequestId"))
	if refusal != nil {
		return nil, refusal
	}
	shown, token, refusal := show(s, "DescribeSpotInstanceRequests", request, named, spotFilters,
		func(r *spotRequest) map[string]string {
			return r.tags
		}, 5, 1000)
	if refusal != nil {
		return nil, refusal
	}
	answer := &spotRequestsAnswer{NextToken: token}
	for _, one := range shown {
		answer.Requests = append(answer.Requests,
			spotRequestXML{ID: one.ID, Price: one.price, Type: "one-time", State: one.state,
				Status: spotStatusXML{one.code, wireTime(one.updated), one.code}, Instance: one.instance.ID,
				Created: wireTime(one.created),
				Product: "Linux/UNIX", Tags: writeTags(one.tags), Zone: one.instance.subnet.Zone.Name, Interruption: "terminate"})
	}
	return answer, nil
}

type cancelledAnswer struct {
	header
	Requests []cancelledXML `xml:"spotInstanceRequestSet>item"`
}

type cancelledXML struct {
	ID    string `xml:"spotInstanceRequestId"`
	State string `xml:"state"`
}

// cancelSpotInstanceRequests ends requests but not their instances, which keep
// running and cost money: the caller must end them too.
func (s *Simulator) cancelSpotInstanceRequests(now time.Time, request form) (answer, *apiError) {
	ids := request.texts("SpotInstanceRequestId")
	if len(ids) == 0 {
		return nil, refuse(400, "MissingParameter", "The request must contain the parameter SpotInstanceRequestId")
	}
	named, refusal := s.pickSpots(ids)
	if refusal != nil {
		return nil, refusal
	}
	answer := &cancelledAnswer{}
	for _, one := range named {
		if one.state == "active" {
			one.state, one.code, one.updated = "cancelled", "request-canceled-and-instance-running", now
		}
		answer.Requests = append(answer.Requests, cancelledXML{one.ID, one.state})
	}
	return answer, nil
}
