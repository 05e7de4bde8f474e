package ec2sim

import "time"

// instance is one machine. Which state it is in follows from the moments.
type instance struct {
	number        int
	ID            string
	reservation   string
	index         int // among those of its launch
	token         string
	kind          *instanceType
	image         *image
	subnet        *subnet
	groups        []*securityGroup
	spot          *spotRequest // nil on demand
	settings      settings
	tags          map[string]string
	volumes       []*volume
	interfaces    []*networkInterface
	launched      time.Time
	endAsked      time.Time // zero until its end is requested
	ended         bool      // what its end brings about has been done
	host          *host
	reason, told  string // why it ends, as the API writes it
	code          string // the code of the state's reason
	lists         int    // how many answers looked for it while it flapped
	address       string
	publicAddress string
	announced     string    // the state that the last event told
	interrupted   time.Time // when a spot notice runs out; zero without one
}

func (i *instance) sequence() int { return i.number }

// state tells where the instance is in its life:
//
//	pending ──► running ──► shutting-down ──► terminated ──► (forgotten)
func (i *instance) state(now time.Time, delays Delays) stateXML {
	switch {
	case i.endAsked.IsZero() && now.Before(i.launched.Add(delays.Running)):
		return stateXML{0, "pending"}
	case i.endAsked.IsZero():
		return stateXML{16, "running"}
	case now.Before(i.endAsked.Add(delays.Terminating)):
		return stateXML{32, "shutting-down"}
	}
	return stateXML{48, "terminated"}
}

// forgotten tells whether the account no longer knows of it.
func (i *instance) forgotten(now time.Time, delays Delays) bool {
	return !i.endAsked.IsZero() && !now.Before(i.endAsked.Add(delays.Terminating+delays.Forgotten))
}

// seen tells whether an answer of this moment has the instance: at first none
// has, then every second one. It counts the answers.
func (i *instance) seen(now time.Time, delays Delays) bool {
	since := now.Sub(i.launched)
	switch {
	case since < delays.Visible:
		return false
	case since < delays.Visible+delays.Flapping:
		i.lists++
		return i.lists%2 == 1
	}
	return true
}

type stateXML struct {
	Code int    `xml:"code"`
	Name string `xml:"name"`
}

// settle does what time alone has brought about until now.
func (s *Simulator) settle(now time.Time) {
	w := &s.world
	for _, one := range w.instances {
		s.announce(one, now)
		if !one.ended && one.state(now, s.options.Delays).Name == "terminated" {
			s.end(one, now)
		}
	}
	for _, one := range w.spots {
		one.settle(now)
	}
	kept := w.instances[:0]
	for _, one := range w.instances {
		if !one.forgotten(now, s.options.Delays) {
			kept = append(kept, one)
		}
	}
	clear(w.instances[len(kept):])
	w.instances = kept
}

// end takes away what ends with an instance, and leaves what outlives it.
func (s *Simulator) end(one *instance, now time.Time) {
	w := &s.world
	one.ended = true
	for _, volume := range one.volumes {
		if volume.deleteWithInstance {
			w.removeVolume(volume)
		} else {
			volume.instance = nil
		}
	}
	for _, face := range one.interfaces {
		if face.deleteWithInstance {
			w.removeInterface(face)
		} else {
			face.instance = nil
		}
	}
	one.volumes, one.interfaces = nil, nil
	if one.spot != nil {
		one.spot.closes = now.Add(s.options.Closing)
		one.spot.settle(now)
	}
	if room, ok := w.rooms[one.market()]; ok {
		w.rooms[one.market()] = room + 1
	}
	if one.host != nil {
		s.vacate(one.host, now)
	}
}

func endOfSpot(one *instance) string {
	if one.code == "Server.SpotInstanceTermination" {
		return "instance-terminated-no-capacity"
	}
	return "instance-terminated-by-user"
}

// askEnd begins the end of an instance, once.
func (one *instance) askEnd(now time.Time, code, told string) {
	if !one.endAsked.IsZero() {
		return
	}
	one.endAsked = now
	one.code, one.told = code, told
	one.reason = "User initiated (" + now.UTC().Format("2006-01-02 15:04:05 MST") + ")"
	if code == "Server.SpotInstanceTermination" {
		one.reason = "Server.SpotInstanceTermination"
	}
}

// Market is where capacity is: of one type, in one zone, spot or on demand.
type Market struct {
	InstanceType, Zone string
	Spot               bool
}

func (i *instance) market() Market {
	return Market{i.kind.Name, i.subnet.Zone.Name, i.spot != nil}
}
