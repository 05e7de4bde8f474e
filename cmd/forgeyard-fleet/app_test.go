package main

import (
	"strings"
	"testing"
	"time"
)

func TestWhatIsPrintedCannotSteerTheTerminal(t *testing.T) {
	var out strings.Builder
	a := &app{out: &out, now: time.Now}
	a.printf("%s\n", "host \x1b[5A\x1b[J\rgone\u009b\x7f\x9b\tRechner ☃")
	want := "host \\x1b[5A\\x1b[J\\rgone\\u009b\\x7f\uFFFD\tRechner ☃\n"
	if out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}
