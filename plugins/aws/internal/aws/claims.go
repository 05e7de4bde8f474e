package aws

import (
	"maps"
	"sync"
	"time"
)

// claims are the hosts that launches under way have taken, and those that they have
// asked for, which lists may not show yet. As with [recent] it is only caution: after
// a start of the plugin the tags of the hosts are what is known.
type claims struct {
	now func() time.Time

	mutex sync.Mutex
	taken map[string]claimed // by host
	asked map[string]claimed // by key
}

// claimed is until when something counts, and whose it is.
type claimed struct {
	by    string // the key that took a host, or the fleet that asked for one
	host  string // the one that was allocated for it; empty: its id isn't known
	until time.Time
}

func newClaims(now func() time.Time) *claims {
	return &claims{now: now, taken: map[string]claimed{}, asked: map[string]claimed{}}
}

// take takes a host for a key; false: another key has it.
func (c *claims) take(host, key string) bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.forget()
	if other, is := c.taken[host]; is && other.by != key {
		return false
	}
	c.taken[host] = claimed{by: key, until: c.now().Add(claimLife)}
	return true
}

// drop gives a host back that a key took.
func (c *claims) drop(host, key string) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.taken[host].by == key {
		delete(c.taken, host)
	}
}

// begin says whether the request may allocate a host: its fleet has fewer than it may
// have, among those that are listed and those that were asked for.
func (c *claims) begin(asked request, listed []host) bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.forget()
	hosts := 0
	shown := map[string]bool{asked.Key: true} // asked for again, it is the same host
	for _, one := range listed {
		if one.labels[tagFleet] == asked.Fleet {
			hosts++
		}
		shown[one.labels[tagAllocated]], shown[one.id] = true, true
	}
	for key, one := range c.asked {
		if one.by == asked.Fleet && !shown[key] && !shown[one.host] {
			hosts++
		}
	}
	if hosts >= asked.Instance.MaxHosts {
		return false
	}
	c.asked[asked.Key] = claimed{by: asked.Fleet, host: c.asked[asked.Key].host, until: c.now().Add(claimLife)}
	return true
}

// made remembers which host was allocated for a key.
func (c *claims) made(key, host string) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if one, is := c.asked[key]; is {
		one.host = host
		c.asked[key] = one
	}
}

// end says that a key has asked for no host that could still come.
func (c *claims) end(key string) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	delete(c.asked, key)
}

// forget drops what has run out. The mutex is held.
func (c *claims) forget() {
	now := c.now()
	for _, all := range []map[string]claimed{c.taken, c.asked} {
		maps.DeleteFunc(all, func(_ string, one claimed) bool { return !now.Before(one.until) })
	}
}
