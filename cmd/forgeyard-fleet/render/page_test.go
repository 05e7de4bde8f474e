package render

import (
	"strings"
	"testing"
	"time"
)

// noon is the time of what the tests show.
var noon = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

func TestOutputEscapesTerminalControls(t *testing.T) {
	var out strings.Builder
	page := Page{Out: &out, Now: time.Now}
	page.Printf("%s\n", "host \x1b[5A\x1b[J\rgone\u009b\x7f\x9b\tRechner ☃")
	want := "host \\x1b[5A\\x1b[J\\rgone\\u009b\\x7f\uFFFD\tRechner ☃\n"
	if out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

func TestATimeIsShownInTheZoneThatItNames(t *testing.T) {
	at := time.Date(2026, 11, 29, 19, 5, 33, 0, time.FixedZone("EST", -5*60*60))
	if got, want := Moment(at), "2026-11-30 00:05:33 UTC"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
