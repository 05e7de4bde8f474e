package text

import (
	"strings"
	"testing"
	"time"
)

func TestSmallTexts(t *testing.T) {
	at := time.Date(2026, 11, 30, 14, 2, 3, 0, time.UTC)
	for _, tt := range []struct{ name, got, want string }{
		{"one of a noun", Plural(1, "instance"), "1 instance"},
		{"several of a noun", Plural(2, "instance"), "2 instances"},
		{"none of a noun", Plural(0, "instance"), "0 instances"},
		{"no words", List(nil), ""},
		{"one word", List([]string{"a"}), "a"},
		{"three words", List([]string{"a", "b", "c"}), "a, b and c"},
		{"a quoted word", Quote("a\"b"), `"a\"b"`},
		{"a long quoted word", Quote(strings.Repeat("ä", 100)), `"` + strings.Repeat("ä", 30) + `"`},
		{"no comment", Comment(""), ""},
		{"a comment", Comment("for the release"), " (for the release)"},
		{"a clause", Clause("it failed. "), "it failed"},
		{"a moment", Moment(at), "2026-11-30 14:02 UTC"},
		{"a clock", Clock(at), "14:02 UTC"},
		{"a clock that isn't before", ClockUp(at), "14:03 UTC"},
		{"a full minute on the clock", ClockUp(at.Truncate(time.Minute)), "14:02 UTC"},
		{"a time to come", In(at.Add(5*time.Second), at), "5s"},
		{"a time that is due", In(at, at), "1s"},
		{"a minute", Duration(time.Minute), "1m"},
		{"an hour", Duration(time.Hour), "1h"},
		{"90 seconds", Duration(90 * time.Second), "1m30s"},
		{"a part of minutes", Passed(4*time.Minute, 15*time.Minute), "4 of 15 minutes"},
		{"more than the whole", Passed(time.Hour, 90*time.Second), "90 of 90 seconds"},
		{"bytes", Bytes(2 << 30), "2 GiB"},
		{"few bytes", Bytes(7), "7 B"},
		{"a command", Command("a", "it's", "b c", "x/y=1", ""), `a 'it'\''s' 'b c' x/y=1 ''`},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, tt.got, tt.want)
		}
	}
}
