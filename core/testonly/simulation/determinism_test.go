package simulation

import (
	"bytes"
	"runtime"
	"strings"
	"testing"
)

// logs are the logs of some seeds, run beside each other.
func logs(processors int) [][]byte {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
	out := make([][]byte, 24)
	each(len(out), func(seed uint64) bool {
		out[seed-*first] = Run(Options{Seed: seed}).Log
		return false
	})
	return out
}

func TestOneSeedIsOneLogWhateverRunsBesideIt(t *testing.T) {
	alone, again, crowded := logs(1), logs(1), logs(8)
	for n := range alone {
		if !bytes.Equal(alone[n], again[n]) || !bytes.Equal(alone[n], crowded[n]) {
			t.Errorf("seed %d has more than one log: %s", n, firstDifference(alone[n], again[n], crowded[n]))
		}
		if len(alone[n]) < 1000 {
			t.Errorf("the log of seed %d has %d bytes", n, len(alone[n]))
		}
	}
}

func firstDifference(logs ...[]byte) string {
	one := strings.Split(string(logs[0]), "\n")
	for _, log := range logs[1:] {
		for n, line := range strings.Split(string(log), "\n") {
			if n >= len(one) || one[n] != line {
				return line
			}
		}
	}
	return ""
}

func TestAFailureIsShrunkAndNamesTheCommandThatShowsItAgain(t *testing.T) {
	planted := Options{Seed: 0, Double: planning(doubled)()}
	full, small := Run(planted), Shrink(planted)
	if full.Failure == nil || small.Failure == nil || small.Failure.Invariant != full.Failure.Invariant {
		t.Fatalf("%v, and shrunk %v", full.Failure, small.Failure)
	}
	if len(small.Faults) != 0 {
		t.Errorf("it needs no fault, and %d are left", len(small.Faults))
	}
	if text := small.String(); !strings.Contains(text, "go run ./core/testonly/simulation/replay --seed 0 --only none") {
		t.Errorf("the report doesn't say how to see it again: %s", text)
	}
}

func BenchmarkSeeds(b *testing.B) {
	var hours float64
	seed := uint64(0)
	for b.Loop() {
		hours += Run(Options{Seed: seed}).Lasted.Hours()
		seed++
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "seeds/s")
	b.ReportMetric(hours/b.Elapsed().Seconds(), "virtual-hours/s")
}
