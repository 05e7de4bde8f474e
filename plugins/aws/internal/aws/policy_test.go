package aws

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"testing"

	"github.com/forgeyard/forgeyard-fleet/plugins/aws/internal/ec2sim"
	"github.com/forgeyard/forgeyard-fleet/plugins/aws/internal/policy"
)

// labs are the accounts of all tests, for what was called in them.
var labs struct {
	sync.Mutex
	all []*ec2sim.Simulator
}

// TestMain holds the policy against what all tests together have called: whatever the
// plugin calls must be in it, and when no test was left out, nothing else.
func TestMain(m *testing.M) {
	code := m.Run()
	if code == 0 {
		unfiltered := flag.Lookup("test.run").Value.String() == "" && flag.Lookup("test.skip").Value.String() == "" &&
			!testing.Short()
		if wrong := policyAgainstCalls(unfiltered); len(wrong) > 0 {
			fmt.Println("FAIL: the policy and what the plugin calls differ:")
			for _, line := range wrong {
				fmt.Println("    " + line)
			}
			code = 1
		}
	}
	os.Exit(code)
}

func policyAgainstCalls(unfiltered bool) (wrong []string) {
	known, called := policy.Calls(), map[string]bool{}
	labs.Lock()
	defer labs.Unlock()
	for _, account := range labs.all {
		for _, call := range account.Called() {
			called[call] = true
		}
	}
	for _, call := range slices.Sorted(maps.Keys(called)) {
		if _, listed := known[call]; !listed {
			wrong = append(wrong, call+" is called, and isn't in the table of actions")
		}
	}
	for _, call := range slices.Sorted(maps.Keys(known)) {
		if unfiltered && known[call] && !called[call] {
			wrong = append(wrong, call+" is in the policy, and no test makes the plugin call it")
		}
	}
	return wrong
}
