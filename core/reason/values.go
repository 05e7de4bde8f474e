package reason

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/reason/text"
)

// Instant is a point in time in nanoseconds since 1970: unlike a time.Time two of the
// same point are ==. In JSON it is RFC 3339 in UTC. 0 is none.
type Instant int64

// At is the instant of a time; the zero time is none.
func At(t time.Time) Instant {
	if t.IsZero() {
		return 0
	}
	return Instant(t.UnixNano())
}

// Time is the time of the instant, in UTC.
func (i Instant) Time() time.Time {
	if i == 0 {
		return time.Time{}
	}
	return time.Unix(0, int64(i)).UTC()
}

// MarshalText implements encoding.TextMarshaler.
func (i Instant) MarshalText() ([]byte, error) {
	return []byte(i.Time().Format(time.RFC3339Nano)), nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (i *Instant) UnmarshalText(written []byte) error {
	t, err := time.Parse(time.RFC3339Nano, string(written))
	*i = At(t)
	return err
}

// Duration is a time.Duration that JSON has as text: "1m30s".
type Duration time.Duration

// String is the duration for people.
func (d Duration) String() string { return text.Duration(time.Duration(d)) }

// MarshalText implements encoding.TextMarshaler.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *Duration) UnmarshalText(written []byte) error {
	parsed, err := time.ParseDuration(string(written))
	*d = Duration(parsed)
	return err
}

// LocalTime is an instant by the clock of a time zone.
type LocalTime struct {
	At Instant `json:"at"`
	// Zone is its name, and Offset how many seconds it is east of UTC then.
	Zone   string `json:"zone"`
	Offset int    `json:"offset,omitempty"`
}

// Local is a time by the clock that it is in; the zero time is none.
func Local(t time.Time) LocalTime {
	if t.IsZero() {
		return LocalTime{}
	}
	_, offset := t.Zone()
	return LocalTime{At(t), t.Location().String(), offset}
}

// String is the time with its date: "2026-11-30 18:00 Europe/Berlin".
func (l LocalTime) String() string {
	return l.At.Time().In(time.FixedZone(l.Zone, l.Offset)).Format("2006-01-02 15:04 ") + l.Zone
}

// MaxListed is how many items a List has at most.
const MaxListed = 4

// List is the first few of some items, and how many more there are. Unlike a slice it
// can be compared.
type List[T comparable] struct {
	items [MaxListed]T
	count int
	more  int
}

// ListOf is the first of the items, as many as are listed.
func ListOf[T comparable](all ...T) List[T] {
	var l List[T]
	l.count = copy(l.items[:], all)
	l.more = len(all) - l.count
	return l
}

// Items are the items that are listed.
func (l List[T]) Items() []T { return l.items[:l.count] }

// Equal says the same as ==. It is for those who compare by reflection.
func (l List[T]) Equal(other List[T]) bool { return l == other }

// Len counts all items, those that aren't listed included.
func (l List[T]) Len() int { return l.count + l.more }

// parts are the items as texts, with the number of those that aren't listed last.
func (l List[T]) parts(of func(T) string) []string {
	var parts []string
	for _, item := range l.Items() {
		parts = append(parts, of(item))
	}
	if l.more > 0 {
		parts = append(parts, fmt.Sprintf("%d more", l.more))
	}
	return parts
}

// listRecord is a list in JSON.
type listRecord[T comparable] struct {
	Items []T `json:"items"`
	More  int `json:"more,omitempty"`
}

// MarshalJSON gives the items that are listed, and how many more there are.
func (l List[T]) MarshalJSON() ([]byte, error) {
	return json.Marshal(listRecord[T]{l.Items(), l.more})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (l *List[T]) UnmarshalJSON(content []byte) error {
	var in listRecord[T]
	if err := json.Unmarshal(content, &in); err != nil {
		return fmt.Errorf("read a list of a reason: %w", err)
	}
	*l = ListOf(in.Items...)
	l.more += in.More
	return nil
}

// minute is a minute in nanoseconds.
const minute = int64(time.Minute)

// passed is how much of a time has passed: "4 of 15 minutes".
func passed(part, whole Duration) string {
	return text.Passed(time.Duration(part), time.Duration(whole))
}

// ResourceName names a resource of a provider.
type ResourceName struct {
	ID string `json:"id"`
	// Kind is volume, address, …; left out: it is an instance.
	Kind string `json:"kind,omitempty"`
}

func (r ResourceName) text() string {
	if r.Kind == "" {
		return r.ID
	}
	return fmt.Sprintf("the %s %s", r.Kind, r.ID)
}

// CheckResult is a check of an admission with what it found.
type CheckResult struct {
	Check string `json:"check"`
	Found Reason `json:"found"`
}

func (c CheckResult) text() string { return c.Check + ": " + c.Found.Text() }

func checksText(checks List[CheckResult]) string {
	return strings.Join(checks.parts(CheckResult.text), "; ")
}
