package pluginlog

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestALogThatWasFullTakesLinesAgainAndSaysHowManyAreMissing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		log := New(debugLogger(&out), &Redactor{}, nil)
		line := []byte(strings.Repeat("x", 100))
		for range 2 * burst / (len(line) + lineCost) {
			log.line(line, false)
		}
		full := len(out.String())
		log.line([]byte("unheard"), false)
		if now := len(out.String()); now != full {
			t.Error("a line without room is in the log")
		}
		time.Sleep(time.Second)
		log.line([]byte("heard"), false)
		log.line([]byte("heard too"), false)
		text := out.String()[full:]
		if !strings.Contains(text, "lines=") || strings.Count(text, "\n") != 3 || strings.Contains(text, "unheard") {
			t.Errorf("it says %s", text)
		}
	})
}

func TestWhatIsNotLoggedCostsNoRoom(t *testing.T) {
	var out strings.Builder
	log := New(slog.New(slog.NewTextHandler(&out, nil)), &Redactor{}, nil) // info and above
	for range 2 * burst / lineCost {
		log.line([]byte(`{"@level":"debug","@message":"detail"}`), false)
	}
	log.line([]byte(`{"@level":"info","@message":"news"}`), false)
	if text := out.String(); !strings.Contains(text, "news") || strings.Contains(text, "lines=") {
		t.Errorf("it says %s", text)
	}
}

func TestALogLineIsUnderstoodOrShownAsItIs(t *testing.T) {
	for line, want := range map[string]string{
		`{"@level":"warn","@message":"slow","@module":"aws","n":1,"@timestamp":"2026-01-02T03:04:05.000000Z"}`: `level=WARN msg=slow module=aws n=1`,
		`{"@message":"odd level","@level":{}}`: `level=DEBUG msg="odd level"`,
		`{"@message":1}`:                       `level=DEBUG msg="{\"@message\":1}"`,
		`plain`:                                `level=DEBUG msg=plain`,
		`panic: oh`:                            `level=ERROR msg="panic: oh"`,
		"a\x1b[2Jb\xff":                        `level=DEBUG msg="a�[2Jb�"`,
	} {
		var out strings.Builder
		logger := slog.New(
			slog.NewTextHandler(
				&out,
				&slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
					if a.Key == slog.TimeKey {
						return slog.Attr{}
					}
					return a
				}},
			),
		)
		New(logger, &Redactor{}, nil).line([]byte(line), false)
		if got := strings.TrimSpace(out.String()); got != want {
			t.Errorf("%q\n got %s\nwant %s", line, got, want)
		}
	}
}

func TestOnlyTheLastLogLinesAreKept(t *testing.T) {
	log := New(slog.New(slog.DiscardHandler), &Redactor{}, nil)
	for range 100 {
		log.line([]byte(strings.Repeat("x", 2*MaxLastLine)), false)
	}
	log.line([]byte("the end"), false)
	last := log.LastLines()
	if lines := strings.Count(
		last,
		"\n    ",
	); lines != lastLineCount || !strings.Contains(last, "the end") ||
		len(last) > lastLineCount*(MaxLastLine+50) {
		t.Errorf("%d lines, %d bytes", lines, len(last))
	}
}

func FuzzLogLine(f *testing.F) {
	for _, seed := range []string{`{"@message":1}`, `{"@message":"a","@level":"info","k":[1]}`, "panic: x", "", "\xff{",
		`{"@message":"\u001b"}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		log := New(slog.New(slog.DiscardHandler), &Redactor{}, nil)
		log.line(line, len(line)%2 == 0)
		if last := log.LastLines(); strings.ContainsAny(last, "\x1b\r\x00") {
			t.Errorf("%q is not clean", last)
		}
	})
}

func TestAHeadlineIsTheErrorWithoutTheLogLines(t *testing.T) {
	log := New(slog.New(slog.DiscardHandler), &Redactor{}, nil)
	log.line([]byte("panic: oh"), false)
	log.line([]byte("second"), false)
	err := fmt.Errorf("it died: it ended (exit status 2)%s; correct it", log.LastLines())
	if got := Headline(err); got != "it died: it ended (exit status 2); correct it" {
		t.Errorf("%q", got)
	}
	if got := Headline(errors.New("plain")); got != "plain" {
		t.Errorf("%q", got)
	}
}

func debugLogger(to io.Writer) *slog.Logger {
	return slog.New(slog.NewTextHandler(to, &slog.HandlerOptions{Level: slog.LevelDebug}))
}
