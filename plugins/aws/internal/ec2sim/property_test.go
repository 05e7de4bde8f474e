package ec2sim

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"
)

// TestAnySequenceKeepsTokensAndPages runs launches, ends, waits and faults in a
// drawn order. After each: a token means one instance for ever, and pages of
// any size show each instance exactly once.
func TestAnySequenceKeepsTokensAndPages(t *testing.T) {
	for seed := range uint64(12) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { anySequence(t, seed) })
	}
}

func anySequence(t *testing.T, seed uint64) {
	draw := rand.New(rand.NewPCG(seed, 1))
	c := newCaller(t, Options{LargestPage: draw.IntN(8), Delays: Delays{Running: time.Minute, Terminating: time.Minute}})
	meant := map[string]string{} // instance by token
	for range 60 {
		token := fmt.Sprint("key-", draw.IntN(30))
		switch draw.IntN(5) {
		case 0, 1:
			if draw.IntN(3) == 0 {
				c.simulator.Inject(Fault{Operation: "RunInstances", After: draw.IntN(2) == 0})
			}
			status, body := c.call("RunInstances", launchOne("ClientToken", token)...)
			if status == 0 {
				body = c.must("RunInstances", launchOne("ClientToken", token)...)
			}
			id := read(t, body).Started[0].ID
			if before, ok := meant[token]; ok && before != id {
				t.Fatalf("the token %s gave %s and then %s", token, before, id)
			}
			meant[token] = id
		case 2:
			if id, ok := meant[token]; ok {
				c.call("TerminateInstances", "InstanceId.1", id) // It may be forgotten already.
			}
		case 3:
			c.simulator.Advance(time.Duration(draw.IntN(600)) * time.Second)
		case 4:
			if _, ok := meant[token]; ok {
				c.wantRefusal("IdempotentParameterMismatch", "RunInstances", launchOne("ClientToken", token, "KeyName", "x")...)
			}
		}
		eachOnce(t, c, 5+draw.IntN(20))
	}
}

func eachOnce(t *testing.T, c caller, size int) {
	t.Helper()
	seen, token := map[string]int{}, ""
	for pages := 0; pages == 0 || token != ""; pages++ {
		parameters := []string{"MaxResults", strconv.Itoa(size)}
		if token != "" {
			parameters = append(parameters, "NextToken", token)
		}
		answer := read(t, c.must("DescribeInstances", parameters...))
		if len(answer.Instances) > size {
			t.Fatalf("a page of at most %d has %d", size, len(answer.Instances))
		}
		for _, one := range answer.Instances {
			seen[one.ID]++
		}
		token = answer.NextToken
	}
	if len(seen) != len(c.simulator.world.instances) {
		t.Fatalf("the pages show %d of %d instances", len(seen), len(c.simulator.world.instances))
	}
	for id, times := range seen {
		if times != 1 {
			t.Fatalf("%s is shown %d times", id, times)
		}
	}
}
