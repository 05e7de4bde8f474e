package ec2sim

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

type instancesAnswer struct {
	header
	Reservations []reservationXML `xml:"reservationSet>item"`
	NextToken    string           `xml:"nextToken,omitempty"`
}

var instanceFilters = func(now time.Time, delays Delays) attributes[*instance] {
	one := func(read func(*instance) string) func(*instance) []string {
		return func(i *instance) []string { return []string{read(i)} }
	}
	return attributes[*instance]{
		"instance-id":         one(func(i *instance) string { return i.ID }),
		"instance-state-name": one(func(i *instance) string { return i.state(now, delays).Name }),
		"instance-state-code": one(func(i *instance) string { return fmt.Sprint(i.state(now, delays).Code) }),
		"client-token":        one(func(i *instance) string { return i.token }),
		"availability-zone":   one(func(i *instance) string { return i.subnet.Zone.Name }),
		"instance-type":       one(func(i *instance) string { return i.kind.Name }),
		"image-id":            one(func(i *instance) string { return i.image.ID }),
		"subnet-id":           one(func(i *instance) string { return i.subnet.ID }),
		"vpc-id":              one(func(i *instance) string { return i.subnet.VPC }),
		"reservation-id":      one(func(i *instance) string { return i.reservation }),
		"architecture":        one(func(i *instance) string { return i.image.Architecture }),
		"tenancy":             one(func(i *instance) string { return i.settings.tenancy }),
		"private-ip-address":  one(func(i *instance) string { return i.address }),
		"instance-lifecycle": func(i *instance) []string {
			if i.spot != nil {
				return []string{"spot"}
			}
			return nil
		},
		"spot-instance-request-id": func(i *instance) []string {
			if i.spot != nil {
				return []string{i.spot.ID}
			}
			return nil
		},
		"host-id": func(i *instance) []string {
			if i.host != nil {
				return []string{i.host.ID}
			}
			return nil
		},
	}
}

func (s *Simulator) describeInstances(now time.Time, request form) (answer, *apiError) {
	ids := request.texts("InstanceId")
	if _, paged := request["MaxResults"]; paged && len(ids) > 0 {
		return nil, refuse(400, "InvalidParameterCombination",
			"The parameter instancesSet cannot be used with the parameter maxResults")
	}
	visible, refusal := s.visibleInstances(now, ids)
	if refusal != nil {
		return nil, refusal
	}
	shown, token, refusal := show(s, "DescribeInstances", request, visible, instanceFilters(now, s.options.Delays),
		func(i *instance) map[string]string {
			return i.tags
		}, 5, 1000)
	if refusal != nil {
		return nil, refusal
	}
	answer := &instancesAnswer{NextToken: token}
	for len(shown) > 0 {
		// Those of one launch follow each other, but a page may part them.
		together := 1
		for together < len(shown) && shown[together].reservation == shown[0].reservation {
			together++
		}
		answer.Reservations = append(answer.Reservations, s.reservationOf(now, shown[:together]))
		shown = shown[together:]
	}
	return answer, nil
}

// visibleInstances gives those that the moment shows: all, or those named, of
// which each must be there.
func (s *Simulator) visibleInstances(now time.Time, ids []string) ([]*instance, *apiError) {
	var visible []*instance
	for _, one := range s.world.instances {
		if (len(ids) == 0 || slices.Contains(ids, one.ID)) && one.seen(now, s.options.Delays) {
			visible = append(visible, one)
		}
	}
	return visible, missing(ids, visible, func(i *instance) string { return i.ID }, "i-", "InvalidInstanceID", "instance")
}

// missing refuses where one of the named things isn't among the found ones.
func missing[T any](ids []string, found []T, idOf func(T) string, prefix, code, noun string) *apiError {
	var absent []string
	for _, id := range ids {
		if !strings.HasPrefix(id, prefix) {
			return refuse(400, code+".Malformed", "Invalid id: \"%s\" (expecting \"%s...\")", id, prefix)
		}
		if !slices.ContainsFunc(found, func(one T) bool { return idOf(one) == id }) {
			absent = append(absent, id)
		}
	}
	switch len(absent) {
	case 0:
		return nil
	case 1:
		return refuse(400, code+".NotFound", "The %s ID '%s' does not exist", noun, absent[0])
	}
	return refuse(400, code+".NotFound", "The %s IDs '%s' do not exist", noun, strings.Join(absent, ", "))
}

type stateChangesAnswer struct {
	header
	Changes []stateChangeXML `xml:"instancesSet>item"`
}

type stateChangeXML struct {
	ID       string   `xml:"instanceId"`
	Current  stateXML `xml:"currentState"`
	Previous stateXML `xml:"previousState"`
}

// terminateInstances ends all that are named, or none where one of them isn't
// there. Ending an ended machine isn't an error.
func (s *Simulator) terminateInstances(now time.Time, request form) (answer, *apiError) {
	ids := request.texts("InstanceId")
	if len(ids) == 0 {
		return nil, refuse(400, "MissingParameter", "The request must contain the parameter InstanceId")
	}
	var found []*instance
	for _, one := range s.world.instances {
		if slices.Contains(ids, one.ID) && now.Sub(one.launched) >= s.options.Visible {
			found = append(found, one)
		}
	}
	if refusal := missing(ids, found, func(i *instance) string {
		return i.ID
	}, "i-", "InvalidInstanceID", "instance"); refusal != nil {
		return nil, refusal
	}
	for _, one := range found {
		if one.settings.protectedFromEnd && one.endAsked.IsZero() {
			return nil, refuse(400, "OperationNotPermitted",
				"The instance '%s' may not be terminated. Modify its 'disableApiTermination' instance attribute and try again.",
				one.ID)
		}
	}
	changes := &stateChangesAnswer{}
	for _, one := range found {
		previous := one.state(now, s.options.Delays)
		one.askEnd(now, "Client.UserInitiatedShutdown", "Client.UserInitiatedShutdown: User initiated shutdown")
		changes.Changes = append(changes.Changes, stateChangeXML{one.ID, one.state(now, s.options.Delays), previous})
	}
	s.settle(now)
	return changes, nil
}
