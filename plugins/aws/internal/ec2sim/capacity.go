package ec2sim

import "time"

// SetCapacity says how many more instances start in a market. Without it there
// is room without end.
func (s *Simulator) SetCapacity(market Market, instances int) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.world.rooms[market] = instances
}

// The codes of quotas that a launch is held against; they count virtual cpus.
const (
	StandardQuota     = "L-1216C47A" // on demand: A, C, D, H, I, M, R, T, Z
	StandardSpotQuota = "L-34B43A08"
	GraphicsQuota     = "L-DB2E81BA" // on demand: G and VT
	GraphicsSpotQuota = "L-3819A6DF"
	MacHostQuota      = "L-5D8DADF5" // counts dedicated hosts for mac2
)

// SetQuota says how many virtual cpus of a quota may run at once. Without it
// there is no limit.
func (s *Simulator) SetQuota(code string, cpus int) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.world.quotas[code] = cpus
}

// room tells how many of the wanted instances start: the most that fit, or a
// refusal where not even the least do.
func (s *Simulator) room(w wanted, now time.Time) (int, *apiError) {
	count := w.most
	if w.subnet.Addresses < w.least {
		return 0, refuse(400, "InsufficientFreeAddressesInSubnet",
			"The specified subnet does not have enough free addresses to satisfy the request.")
	}
	count = min(count, w.subnet.Addresses)
	if left, limited := s.quotaLeft(w.kind, w.spot, now); limited {
		if left < w.least {
			return 0, quotaRefusal(w, s.world.quotas[w.kind.quota(w.spot)])
		}
		count = min(count, left)
	}
	market := Market{w.kind.Name, w.subnet.Zone.Name, w.spot}
	if w.host != nil {
		if w.host.instance != nil {
			return 0, refuse(400, "InsufficientHostCapacity",
				"There is not enough capacity to fulfill your request on the host %s", w.host.ID)
		}
		return min(count, 1), nil
	}
	if room, ok := s.world.rooms[market]; ok {
		if room < w.least {
			return 0, capacityRefusal(w)
		}
		count = min(count, room)
		s.world.rooms[market] = room - count
	}
	return count, nil
}

// quotaLeft is how many instances of the type a quota still lets start.
func (s *Simulator) quotaLeft(kind *instanceType, spot bool, now time.Time) (int, bool) {
	code := kind.quota(spot)
	limit, ok := s.world.quotas[code]
	if !ok || kind.mac() {
		return 0, false
	}
	used := 0
	for _, one := range s.world.instances {
		state := one.state(now, s.options.Delays).Name
		if one.kind.quota(one.spot != nil) == code && state != "terminated" && state != "shutting-down" {
			used += one.kind.CPUs
		}
	}
	return max(0, limit-used) / kind.CPUs, true
}

func quotaRefusal(w wanted, limit int) *apiError {
	if w.spot {
		return refuse(400, "MaxSpotInstanceCountExceeded", "Max spot instance count exceeded")
	}
	return refuse(400, "VcpuLimitExceeded",
		"You have requested more vCPU capacity than your current vCPU limit of %d allows for the instance bucket that the "+
			"specified instance type belongs to. Please visit http://aws.amazon.com/contact-us/ec2-request to request an "+
			"adjustment to this limit.", limit)
}

func capacityRefusal(w wanted) *apiError {
	if w.spot {
		return refuse(500, "InsufficientInstanceCapacity", "There is no Spot capacity available that matches your request.")
	}
	return refuse(500, "InsufficientInstanceCapacity",
		"We currently do not have sufficient %s capacity in the Availability Zone you requested (%s). Our system will be "+
			"working on provisioning additional capacity.", w.kind.Name, w.subnet.Zone.Name)
}
