package reviewos

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// The lifecycles in which ReviewOS counts runners. Only those that are idle or
// running take jobs.
const (
	lifecycleIdle      = "idle"
	lifecycleRunning   = "running"
	lifecycleStopping  = "stopping"
	lifecycleLost      = "lost"
	lifecycleDisabled  = "disabled"
	lifecycleNeverSeen = "never-seen"
)

var lifecycles = []string{
	lifecycleIdle,
	lifecycleRunning,
	lifecycleStopping,
	lifecycleLost,
	lifecycleDisabled,
	lifecycleNeverSeen,
}

// The metrics that are read. What else is on the page is somebody else's.
const (
	metricWaiting = "reviewos_ci_jobs_waiting"
	metricRunning = "reviewos_ci_jobs_running"
	metricOldest  = "reviewos_ci_jobs_oldest_waiting_seconds"
	metricRunners = "reviewos_ci_runners"
)

// Bounds of a scrape. Beyond them nothing of it is read.
const (
	maxQueues    = 10_000
	maxQueueName = 256
	maxCount     = 10_000_000
	maxSeconds   = 1e9
)

// queueFacts is what a scrape says of one queue.
type queueFacts struct {
	waiting, running int
	oldest           float64
	runners          map[string]int
	seen             map[string]bool
}

// missing names the series that aren't there. Each is reported also at zero,
// so a missing one doesn't mean zero but unknown.
func (q *queueFacts) missing() []string {
	var out []string
	for _, name := range []string{metricWaiting, metricRunning, metricOldest} {
		if !q.seen[name] {
			out = append(out, name)
		}
	}
	for _, lifecycle := range lifecycles {
		if !q.seen[metricRunners+" "+lifecycle] {
			out = append(out, fmt.Sprintf("%s{lifecycle=%q}", metricRunners, lifecycle))
		}
	}
	return out
}

// parseMetrics reads the Prometheus text format as far as it is about queues, and
// believes nothing of a text of which it can't believe all.
func parseMetrics(text string) (map[string]*queueFacts, error) {
	families, err := newParser().TextToMetricFamilies(strings.NewReader(ownSeries(text)))
	if err != nil {
		return nil, err
	}
	queues := map[string]*queueFacts{}
	for _, metric := range []string{metricWaiting, metricRunning, metricOldest, metricRunners} {
		for _, one := range families[metric].GetMetric() {
			if err := readSeries(queues, metric, one); err != nil {
				return nil, err
			}
		}
	}
	if len(queues) == 0 {
		return nil, errors.New("no series of any queue is in it")
	}
	for _, name := range slices.Sorted(maps.Keys(queues)) {
		if missing := queues[name].missing(); len(missing) > 0 {
			return nil, fmt.Errorf(
				"the queue %.60q has no %s, and every series is reported, also at zero",
				name,
				missing[0],
			)
		}
	}
	return queues, nil
}

func newParser() *expfmt.TextParser {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	return &parser
}

// ownSeries leaves of a page the lines of the metrics that are read, each in its place:
// what else is on it may be in any form.
func ownSeries(text string) string {
	var own strings.Builder
	for line := range strings.Lines(text) {
		if trimmed := strings.TrimSpace(line); strings.HasPrefix(trimmed, "reviewos_ci_") {
			own.WriteString(trimmed)
		}
		own.WriteByte('\n')
	}
	return own.String()
}

// readSeries takes in one value of a queue.
func readSeries(queues map[string]*queueFacts, metric string, one *dto.Metric) error {
	labels := make(map[string]string, len(one.GetLabel()))
	for _, label := range one.GetLabel() {
		labels[label.GetName()] = label.GetValue()
	}
	queue := labels["queue"]
	if queue == "" || len(queue) > maxQueueName || !utf8.ValidString(queue) {
		return fmt.Errorf("%s has no queue with a name of 1 to %d bytes", metric, maxQueueName)
	}
	value := one.GetUntyped().GetValue()
	if math.IsNaN(value) || value < 0 || value > maxSeconds ||
		metric != metricOldest && (value > maxCount || value != math.Trunc(value)) {
		return fmt.Errorf("%s of the queue %.60q is %v, which can't be", metric, queue, value)
	}
	facts := queues[queue]
	if facts == nil {
		if len(queues) == maxQueues {
			return fmt.Errorf("more than %d queues", maxQueues)
		}
		facts = &queueFacts{runners: map[string]int{}, seen: map[string]bool{}}
		queues[queue] = facts
	}
	return facts.keep(metric, queue, labels["lifecycle"], value)
}

// keep takes in one value, once.
func (q *queueFacts) keep(metric, queue, lifecycle string, value float64) error {
	series := metric
	if metric == metricRunners {
		if !slices.Contains(lifecycles, lifecycle) {
			if lifecycle == "" {
				return fmt.Errorf("%s of the queue %.60q has no lifecycle", metric, queue)
			}
			return nil // of a later version: whatever it means, such runners take no jobs
		}
		series += " " + lifecycle
	}
	if q.seen[series] {
		return fmt.Errorf("%s of the queue %.60q is listed twice", series, queue)
	}
	q.seen[series] = true
	switch metric {
	case metricWaiting:
		q.waiting = int(value)
	case metricRunning:
		q.running = int(value)
	case metricOldest:
		q.oldest = value
	default:
		q.runners[lifecycle] = int(value)
	}
	return nil
}
