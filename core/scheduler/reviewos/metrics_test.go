package reviewos

import (
	"strings"
	"testing"
)

// the example of ReviewOS's own page
const pageExample = `reviewos_ci_jobs_waiting{queue="linux-x64-large"} 7
reviewos_ci_jobs_running{queue="linux-x64-large"} 2
reviewos_ci_jobs_oldest_waiting_seconds{queue="linux-x64-large"} 94
reviewos_ci_runners{queue="linux-x64-large",lifecycle="idle"} 1
reviewos_ci_runners{queue="linux-x64-large",lifecycle="running"} 2
reviewos_ci_runners{queue="linux-x64-large",lifecycle="stopping"} 0
reviewos_ci_runners{queue="linux-x64-large",lifecycle="lost"} 0
reviewos_ci_runners{queue="linux-x64-large",lifecycle="disabled"} 0
reviewos_ci_runners{queue="linux-x64-large",lifecycle="never-seen"} 0
`

func TestTheExampleOfThePageIsReadAsItSays(t *testing.T) {
	queues, err := parseMetrics("# HELP a b\nother_metric{x=\"y} nonsense\n" + pageExample)
	if err != nil {
		t.Fatal(err)
	}
	q := queues["linux-x64-large"]
	if q.waiting != 7 || q.running != 2 || q.oldest != 94 || q.runners[lifecycleIdle] != 1 ||
		q.runners[lifecycleRunning] != 2 {
		t.Errorf("%+v", q)
	}
}

func TestAQueueNameMayHaveQuotesAndALineMayHaveATime(t *testing.T) {
	text := strings.ReplaceAll(pageExample, "linux-x64-large", `a\"b\\c`)
	queues, err := parseMetrics(strings.ReplaceAll(text, "} 7", "} 7 1700000000"))
	if err != nil || queues[`a"b\c`] == nil || queues[`a"b\c`].waiting != 7 {
		t.Errorf("%v, %v", queues, err)
	}
}

// FuzzMetrics: whatever a server sends, nothing panics, and what is believed is
// complete and within bounds.
func FuzzMetrics(f *testing.F) {
	f.Add(pageExample)
	f.Add(`reviewos_ci_jobs_waiting{queue="a\` + "\n")
	f.Add(`reviewos_ci_runners{lifecycle="idle",queue="a"} 1e7 5`)
	f.Add("reviewos_ci_jobs_waiting{=,}")
	f.Fuzz(func(t *testing.T, text string) {
		queues, err := parseMetrics(text)
		if err != nil {
			return
		}
		for name, q := range queues {
			if name == "" || len(q.missing()) > 0 || q.waiting < 0 || q.waiting > maxCount ||
				!(q.oldest >= 0 && q.oldest <= maxSeconds) {
				t.Errorf("%q: %+v", name, q)
			}
		}
	})
}
