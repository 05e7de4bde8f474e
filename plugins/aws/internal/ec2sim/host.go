package ec2sim

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// host is a dedicated host. One for Macs holds one instance at a time, is kept
// for a day at least, and is scrubbed after each instance.
type host struct {
	number     int
	ID, token  string
	kind       *instanceType
	zone       zone
	placement  string // AutoPlacement: on or off
	allocated  time.Time
	scrubbed   time.Time // until when it is pending; zero if it never was
	released   time.Time
	instance   *instance
	tags       map[string]string
	parameters string
}

func (h *host) sequence() int { return h.number }

func (h *host) state(now time.Time) string {
	switch {
	case !h.released.IsZero():
		return "released"
	case now.Before(h.scrubbed):
		return "pending"
	}
	return "available"
}

// shortestAllocation is how long a Mac host is kept and paid for at least.
const shortestAllocation = 24 * time.Hour

// vacate frees the host of its instance, and scrubs it if it is for Macs.
func (s *Simulator) vacate(one *host, now time.Time) {
	ended := one.instance
	one.instance = nil
	if one.kind.mac() && ended != nil {
		one.scrubbed = ended.endAsked.Add(s.options.Terminating + s.options.Scrubbing)
	}
}

// readHost finds the host that a launch is for: the one that is named, or, for
// tenancy host, one with automatic placement that has room.
func (s *Simulator) readHost(request form, w *wanted) *apiError {
	id := request["Placement.HostId"]
	if id == "" && w.settings.tenancy != "host" {
		if w.kind.mac() {
			return refuse(400, "InvalidParameterValue", "The instance type %s needs tenancy host", w.kind.Name)
		}
		return nil
	}
	now := s.now()
	for _, one := range s.world.hosts {
		suitable := one.kind == w.kind && one.zone == w.subnet.Zone && one.state(now) == "available" && one.instance == nil
		switch {
		case id == one.ID && !suitable:
			return refuse(400, "InvalidHost.Occupied", "The host %s is %s, of type %s in %s, and can't take this instance now",
				id, one.state(now), one.kind.Name, one.zone.Name)
		case id == one.ID, id == "" && suitable && one.placement == "on":
			w.host = one
			w.settings.tenancy = "host"
			return nil
		}
	}
	if id != "" {
		return refuse(400, "InvalidHostID.NotFound", "The host ID '%s' does not exist", id)
	}
	return refuse(500, "InsufficientHostCapacity",
		"There is not enough capacity to fulfill your request: no host of type %s is free in %s", w.kind.Name,
		w.subnet.Zone.Name)
}

type hostIDsAnswer struct {
	header
	IDs []string `xml:"hostIdSet>item"`
}

func (s *Simulator) allocateHosts(now time.Time, request form) (answer, *apiError) {
	asked := request.canonical("ClientToken")
	if token := request["ClientToken"]; token != "" {
		again := &hostIDsAnswer{}
		for _, one := range s.world.hosts {
			if one.token == token && one.parameters != asked {
				return nil, refuse(400, "IdempotentParameterMismatch",
					"Arguments on this idempotent request are inconsistent with arguments used in previous request(s).")
			}
			if one.token == token {
				again.IDs = append(again.IDs, one.ID)
			}
		}
		if len(again.IDs) > 0 {
			return again, nil
		}
	}
	kind := typeNamed(request["InstanceType"])
	if kind == nil {
		return nil, refuse(400, "InvalidParameterValue", "Invalid value '%s' for InstanceType.", request["InstanceType"])
	}
	at := slices.IndexFunc(s.world.zones, func(z zone) bool { return z.Name == request["AvailabilityZone"] })
	if at < 0 {
		return nil, refuse(400, "InvalidParameterValue", "Invalid availability zone: [%s]", request["AvailabilityZone"])
	}
	if kind.missingIn(s.world.zones[at]) {
		return nil, refuse(400, "UnsupportedHostConfiguration", "Hosts of %s are not offered in %s", kind.Name,
			s.world.zones[at].Name)
	}
	quantity, refusal := request.number("Quantity", 1)
	if refusal != nil || quantity < 1 {
		return nil, refuse(400, "InvalidParameterValue", "Value (%s) for parameter quantity is invalid. Expected 1 or more.",
			request["Quantity"])
	}
	if refusal := s.roomForHosts(kind, s.world.zones[at], quantity); refusal != nil {
		return nil, refusal
	}
	tags, refusal := tagSpecifications(request, "dedicated-host")
	if refusal != nil {
		return nil, refusal
	}
	answer := &hostIDsAnswer{}
	for range quantity {
		number := s.world.next()
		one := &host{number: number, ID: s.world.id("h", number), token: request["ClientToken"], kind: kind,
			zone:      s.world.zones[at],
			placement: orElse(request["AutoPlacement"], "on"), allocated: now, tags: copyTags(tags["dedicated-host"]),
			parameters: asked}
		s.world.hosts = append(s.world.hosts, one)
		answer.IDs = append(answer.IDs, one.ID)
	}
	return answer, nil
}

// SetHostCapacity says how many more hosts of a type a zone has. Without it
// there is room without end.
func (s *Simulator) SetHostCapacity(instanceType, zone string, hosts int) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.world.hostRooms[Market{InstanceType: instanceType, Zone: zone}] = hosts
}

func (s *Simulator) roomForHosts(kind *instanceType, at zone, quantity int) *apiError {
	limit, limited := s.world.quotas[MacHostQuota]
	held := 0
	for _, one := range s.world.hosts {
		if one.released.IsZero() && one.kind.mac() {
			held++
		}
	}
	if kind.mac() && limited && held+quantity > limit {
		return refuse(400, "HostLimitExceeded", "You have reached the limit of %d hosts of this instance family", limit)
	}
	market := Market{InstanceType: kind.Name, Zone: at.Name}
	if room, ok := s.world.hostRooms[market]; ok {
		if room < quantity {
			return refuse(500, "InsufficientHostCapacity",
				"There is not enough capacity to fulfill your Dedicated Host request for %s in %s", kind.Name, at.Name)
		}
		s.world.hostRooms[market] = room - quantity
	}
	return nil
}

type hostsAnswer struct {
	header
	Hosts     []hostXML `xml:"hostSet>item"`
	NextToken string    `xml:"nextToken,omitempty"`
}

type hostXML struct {
	ID         string            `xml:"hostId"`
	Placement  string            `xml:"autoPlacement"`
	State      string            `xml:"state"`
	Zone       string            `xml:"availabilityZone"`
	Token      string            `xml:"clientToken,omitempty"`
	Allocated  string            `xml:"allocationTime"`
	Released   string            `xml:"releaseTime,omitempty"`
	Owner      string            `xml:"ownerId"`
	Properties hostPropertiesXML `xml:"hostProperties"`
	Instances  []hostInstanceXML `xml:"instances>item"`
	Capacity   hostCapacityXML   `xml:"availableCapacity"`
	Tags       []tagXML          `xml:"tagSet>item"`
}

type hostPropertiesXML struct {
	Type  string `xml:"instanceType"`
	CPUs  int    `xml:"totalVCpus"`
	Cores int    `xml:"cores"`
	Sock  int    `xml:"sockets"`
}

type hostInstanceXML struct {
	ID    string `xml:"instanceId"`
	Type  string `xml:"instanceType"`
	Owner string `xml:"ownerId"`
}

type hostCapacityXML struct {
	Instances []hostRoomXML `xml:"availableInstanceCapacity>item"`
	CPUs      int           `xml:"availableVCpus"`
}

type hostRoomXML struct {
	Free  int    `xml:"availableCapacity"`
	Type  string `xml:"instanceType"`
	Total int    `xml:"totalCapacity"`
}

func hostFilters(now time.Time) attributes[*host] {
	return attributes[*host]{
		"state":             func(h *host) []string { return []string{h.state(now)} },
		"availability-zone": func(h *host) []string { return []string{h.zone.Name} },
		"instance-type":     func(h *host) []string { return []string{h.kind.Name} },
		"client-token":      func(h *host) []string { return []string{h.token} },
		"auto-placement":    func(h *host) []string { return []string{h.placement} },
	}
}

func (s *Simulator) describeHosts(now time.Time, request form) (answer, *apiError) {
	named, refusal := pick(request.texts("HostId"), s.world.hosts, func(h *host) string {
		return h.ID
	}, "h-", "InvalidHostID", "host")
	if refusal != nil {
		return nil, refusal
	}
	named = slices.DeleteFunc(slices.Clone(named), func(h *host) bool {
		return now.Before(h.allocated.Add(s.options.Visible))
	})
	shown, token, refusal := show(s, "DescribeHosts", request, named, hostFilters(now), func(h *host) map[string]string {
		return h.tags
	}, 5, 500)
	if refusal != nil {
		return nil, refusal
	}
	answer := &hostsAnswer{NextToken: token}
	for _, one := range shown {
		answer.Hosts = append(answer.Hosts, s.writeHost(now, one))
	}
	return answer, nil
}

func (s *Simulator) writeHost(now time.Time, one *host) hostXML {
	written := hostXML{ID: one.ID, Placement: one.placement, State: one.state(now), Zone: one.zone.Name, Token: one.token,
		Allocated: wireTime(one.allocated), Owner: s.options.Account, Tags: writeTags(one.tags),
		Properties: hostPropertiesXML{one.kind.Name, one.kind.CPUs, one.kind.CPUs / one.kind.Threads, 1}}
	room := hostRoomXML{1, one.kind.Name, 1}
	if one.instance != nil {
		written.Instances = []hostInstanceXML{{one.instance.ID, one.kind.Name, s.options.Account}}
		room.Free = 0
	}
	if one.state(now) != "available" {
		room.Free = 0
	}
	if !one.released.IsZero() {
		written.Released = wireTime(one.released)
	}
	written.Capacity = hostCapacityXML{[]hostRoomXML{room}, room.Free * one.kind.CPUs}
	return written
}

type releaseAnswer struct {
	header
	Released   []string        `xml:"successful>item"`
	Unreleased []unreleasedXML `xml:"unsuccessful>item"`
}

type unreleasedXML struct {
	Error errorItemXML `xml:"error"`
	Host  string       `xml:"resourceId"`
}

type errorItemXML struct {
	Code    string `xml:"code"`
	Message string `xml:"message"`
}

// releaseHosts gives back each host that may be given back and says of each
// other one why not: the request as a whole doesn't fail.
func (s *Simulator) releaseHosts(now time.Time, request form) (answer, *apiError) {
	ids := request.texts("HostId")
	if len(ids) == 0 {
		return nil, refuse(400, "MissingParameter", "The request must contain the parameter HostId")
	}
	answer := &releaseAnswer{}
	for _, id := range ids {
		at := slices.IndexFunc(s.world.hosts, func(h *host) bool { return h.ID == id })
		code, message := "", ""
		switch {
		case at < 0 && !strings.HasPrefix(id, "h-"):
			code, message = "InvalidHostID.Malformed", fmt.Sprintf("Invalid id: %q", id)
		case at < 0:
			code, message = "InvalidHostID.NotFound", fmt.Sprintf("The host ID '%s' does not exist", id)
		default:
			code, message = s.world.hosts[at].unreleasable(now)
		}
		if code != "" {
			answer.Unreleased = append(answer.Unreleased, unreleasedXML{errorItemXML{code, message}, id})
			continue
		}
		s.world.hosts[at].released = now
		answer.Released = append(answer.Released, id)
	}
	return answer, nil
}

// unreleasable says why a host can't be given back now; "" if it can.
func (h *host) unreleasable(now time.Time) (code, message string) {
	switch {
	case !h.released.IsZero():
		return "Client.InvalidHost.Released", "The host " + h.ID + " is released already"
	case h.instance != nil:
		return "Client.InvalidHost.Occupied",
			"Dedicated host '" + h.ID + "' cannot be released as it is occupied by instances."
	case h.state(now) == "pending":
		return "Client.InvalidHost.Pending", "The host " + h.ID + " is being prepared"
	case h.kind.mac() && now.Before(h.allocated.Add(shortestAllocation)):
		return "Client.HostMinAllocationPeriodUnexpired",
			"Dedicated host '" + h.ID + "' cannot be released before the minimum host allocation period of 24 hours ends"
	}
	return "", ""
}
