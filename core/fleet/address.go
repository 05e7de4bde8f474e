package fleet

import (
	"regexp"
	"strings"
)

var keyPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// ValidKey says whether s may be a key of for_each: it goes into addresses,
// commands and names of hosts, and needs no quoting within quotes.
func ValidKey(s string) bool { return len(s) <= 63 && keyPattern.MatchString(s) }

// NewFleetAddress is fleet.NAME, or fleet.NAME["KEY"] for a fleet of a block
// with for_each. An empty key is none.
func NewFleetAddress(block, key string) FleetAddress {
	address := "fleet." + block
	if key != "" {
		address += `["` + key + `"]`
	}
	return FleetAddress(address)
}

// ParseFleetAddress takes an address, with or without "fleet.", as people type
// it. False: it is none.
func ParseFleetAddress(text string) (FleetAddress, bool) {
	address := FleetAddress("fleet." + strings.TrimPrefix(text, "fleet."))
	block, key := address.Block(), address.Key()
	if !ValidName(block) || key != "" && !ValidKey(key) || NewFleetAddress(block, key) != address {
		return "", false
	}
	return address, true
}

// Name is the address without "fleet.": NAME or NAME["KEY"].
func (a FleetAddress) Name() string { return strings.TrimPrefix(string(a), "fleet.") }

// Block is the label of the fleet block.
func (a FleetAddress) Block() string {
	block, _, _ := strings.Cut(a.Name(), "[")
	return block
}

// Key is the key of for_each; empty: the block has none.
func (a FleetAddress) Key() string {
	_, key, _ := strings.Cut(string(a), `["`)
	key, _ = strings.CutSuffix(key, `"]`)
	return key
}
