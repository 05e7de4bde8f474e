package loop

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/market"
)

// The table of docs/writing-a-plugin.md is for authors of plugins, who choose a
// class by it: what it says is held against what the loop does.
func TestThePageForAuthorsSaysWhatEachClassOfErrorDoes(t *testing.T) {
	content, err := os.ReadFile(filepath.Join("..", "..", "docs", "writing-a-plugin.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(content), "| class | what it says | what the manager does |\n|---|---|---|\n")
	section, _, _ = strings.Cut(section, "\n\n")
	seen := map[fleet.ErrorClass]bool{}
	does := ""
	for line := range strings.Lines(section) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		class := classNamed(strings.Trim(strings.TrimSpace(cells[0]), "`"))
		if text := strings.TrimSpace(cells[2]); !strings.HasPrefix(text, "the same") {
			does = text
		}
		seen[class] = true
		delays := heldFor
		if market.IsShortage(class) {
			delays = leftAloneFor
		}
		first, last, asked := delays(class, 1, 0), delays(class, 50, 0), delays(class, 1, time.Hour)
		doubles := first == 5*time.Second && last == 5*time.Minute
		holds := false
		switch {
		case strings.HasPrefix(does, "tries again after 5 minutes"):
			holds = first == 5*time.Minute && class.NeedsPerson()
		case strings.HasPrefix(does, "tries again after 5 seconds, doubling to 5 minutes"):
			holds = doubles && !class.NeedsPerson() && !market.IsShortage(class)
		case strings.HasPrefix(does,
			"doesn't hold the fleet: the place that lacked room isn't used for 5 seconds, doubling to 5 minutes"):
			holds = doubles && market.IsShortage(class)
		}
		if !holds {
			t.Errorf(
				"the page says that %s %s, and the first failure counts for %s and the last of many for %s",
				class,
				does,
				first,
				last,
			)
		}
		if asked != time.Hour {
			t.Errorf("RetryAfter doesn't count with %s: it counts for %s", class, asked)
		}
	}
	if len(seen) != 9 {
		t.Errorf("the page has %d classes, and there are 9", len(seen))
	}
}

// classNamed is the class of the SDK's constant: RateLimit is rate_limit.
func classNamed(constant string) fleet.ErrorClass {
	var name strings.Builder
	for i, letter := range constant {
		if i > 0 && letter >= 'A' && letter <= 'Z' {
			name.WriteByte('_')
		}
		name.WriteRune(letter)
	}
	return fleet.ErrorClass(strings.ToLower(name.String()))
}

// heldFor is how long a fleet is held after so many failures of a class.
func heldFor(class fleet.ErrorClass, failures int, retryAfter time.Duration) time.Duration {
	w := &step{now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), backoffs: map[fleet.RunnerFleetID]backoff{}}
	for range failures {
		w.recordFailure(fleet.ManagedFleet{ID: "f"}, &Failure{Class: class, RetryAfter: retryAfter})
	}
	return w.backoffs["f"].hold.Until.Sub(w.now)
}

// leftAloneFor is how long what had no room is left alone after so many failures.
func leftAloneFor(class fleet.ErrorClass, failures int, retryAfter time.Duration) time.Duration {
	now, circuits := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), market.Circuits{}
	offer := fleet.Offer{Zone: "z", Lifetime: fleet.LifetimeStable}
	for n := range failures {
		attempt := market.Attempt{Operation: fleet.OperationID(rune('a' + n)), Provider: "p", Offers: []fleet.Offer{offer}}
		circuits.RecordShortage(
			attempt,
			market.Shortage{Class: class, Zone: "z", RetryAfter: retryAfter},
			now,
			func() float64 { return 0 },
		)
		if n < failures-1 {
			now = circuits.Affecting("p", offer)[0].Until
		}
	}
	return circuits.Affecting("p", offer)[0].Until.Sub(now)
}
