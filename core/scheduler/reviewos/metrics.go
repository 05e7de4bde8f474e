package reviewos

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
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
	queues := map[string]*queueFacts{}
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "reviewos_ci_") {
			continue // a comment, or another metric
		}
		if err := readSeries(queues, line); err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
	}
	if len(queues) == 0 {
		return nil, errors.New("no series of any queue is in it")
	}
	for _, name := range slices.Sorted(maps.Keys(queues)) {
		if missing := queues[name].missing(); len(missing) > 0 {
			return nil, fmt.Errorf("the queue %.60q has no %s, and every series is reported, also at zero", name, missing[0])
		}
	}
	return queues, nil
}

// readSeries takes in one line: a name, labels, a value and perhaps a time.
func readSeries(queues map[string]*queueFacts, line string) error {
	end := strings.IndexAny(line, "{ \t")
	if end < 0 {
		return fmt.Errorf("%.60q has no value", line)
	}
	metric := line[:end]
	switch metric {
	case metricWaiting, metricRunning, metricOldest, metricRunners:
	default:
		return nil // of a later version
	}
	labels, rest, err := readLabels(line[end:])
	if err != nil {
		return fmt.Errorf("%s: %w", metric, err)
	}
	queue := labels["queue"]
	if queue == "" || len(queue) > maxQueueName || !utf8.ValidString(queue) {
		return fmt.Errorf("%s has no queue with a name of 1 to %d bytes", metric, maxQueueName)
	}
	fields := strings.Fields(rest)
	if len(fields) < 1 || len(fields) > 2 {
		return fmt.Errorf("%s of the queue %.60q: one value is expected, and perhaps a time", metric, queue)
	}
	value, err := strconv.ParseFloat(fields[0], 64)
	if err != nil || math.IsNaN(value) || value < 0 || value > maxSeconds ||
		metric != metricOldest && (value > maxCount || value != math.Trunc(value)) {
		return fmt.Errorf("%s of the queue %.60q is %.40q, which can't be", metric, queue, fields[0])
	}
	facts := queues[queue]
	if facts == nil {
		if len(queues) == maxQueues {
			return fmt.Errorf("there are more than %d queues", maxQueues)
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
		return fmt.Errorf("%s of the queue %.60q is there twice", series, queue)
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

// readLabels reads {name="value",…}, and returns what follows.
func readLabels(text string) (labels map[string]string, rest string, err error) {
	labels = map[string]string{}
	text, found := strings.CutPrefix(text, "{")
	if !found {
		return labels, text, nil
	}
	for {
		text = strings.TrimLeft(text, " \t,")
		if rest, done := strings.CutPrefix(text, "}"); done {
			return labels, rest, nil
		}
		name, after, found := strings.Cut(text, "=")
		name = strings.TrimSpace(name)
		if !found || name == "" || len(name) > maxQueueName {
			return nil, "", fmt.Errorf("invalid label %.60q", text)
		}
		value, after, err := readQuoted(strings.TrimLeft(after, " \t"))
		if err != nil {
			return nil, "", fmt.Errorf("the label %.60q: %w", name, err)
		}
		if _, twice := labels[name]; twice {
			return nil, "", fmt.Errorf("the label %.60q is there twice", name)
		}
		labels[name], text = value, after
	}
}

// readQuoted reads a value in quotes, in which \\, \" and \n are escaped.
func readQuoted(text string) (value, rest string, err error) {
	text, found := strings.CutPrefix(text, `"`)
	if !found {
		return "", "", errors.New("its value isn't in quotes")
	}
	var out strings.Builder
	for n := 0; n < len(text); n++ {
		switch c := text[n]; {
		case c == '"':
			return out.String(), text[n+1:], nil
		case c == '\\' && n+1 < len(text) && strings.IndexByte(`\"n`, text[n+1]) >= 0:
			n++
			if text[n] == 'n' {
				out.WriteByte('\n')
			} else {
				out.WriteByte(text[n])
			}
		case c == '\\':
			return "", "", errors.New("its value has an escape that there isn't")
		default:
			out.WriteByte(c)
		}
	}
	return "", "", errors.New("its value has no end")
}
