//go:build unix

package pluginhost

import (
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestAPluginThatClosesItsLogServesOn(t *testing.T) {
	process := started(t, launch(t, "closed stderr"))
	if _, err := process.Info(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestAFloodOfLogLinesFillsNoDiskAndIsTold(t *testing.T) {
	var log logBuffer
	l := launch(t, "flood of log lines") // 20 MB
	l.Logger = log.logger()
	process := started(t, l)
	if _, err := process.Info(t.Context()); err != nil {
		t.Fatal(err)
	}
	// All of it is read, and the last lines are there for the cause of a crash.
	eventually(t, "the end of the flood is heard", func() bool {
		return strings.Contains(process.program.log.lastLines(), "the last word")
	})
	if err := process.Stop(2 * time.Second); err != nil {
		t.Fatal(err)
	}
	written := log.String()
	if len(written) > 10<<20 {
		t.Errorf("%d bytes are in the log", len(written))
	}
	if !strings.Contains(written, "writes more than the log takes") {
		t.Error("the log doesn't say that lines are missing")
	}
}

func TestALogThatWasFullTakesLinesAgainAndSaysHowManyAreMissing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out logBuffer
		log := newPluginLog(out.logger(), &redactor{})
		line := []byte(strings.Repeat("x", 100))
		for range 2 * logBurst / (len(line) + logLineCost) {
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
	var out logBuffer
	log := newPluginLog(slog.New(slog.NewTextHandler(&out, nil)), &redactor{}) // info and above
	for range 2 * logBurst / logLineCost {
		log.line([]byte(`{"@level":"debug","@message":"detail"}`), false)
	}
	log.line([]byte(`{"@level":"info","@message":"news"}`), false)
	if text := out.String(); !strings.Contains(text, "news") || strings.Contains(text, "lines=") {
		t.Errorf("it says %s", text)
	}
}

// What turns the direction of text around makes a terminal show another text.
func TestNoWordOfAPluginSteersATerminal(t *testing.T) {
	for text, want := range map[string]string{
		"\x1b[2J\x9b1m\x7f": "�[2J�1m�",
		"a\nb\tc\rd":        "a b c�d",
		"\u202egnp.exe":     "�gnp.exe",
		"\u2028\u2069ü":     "��ü",
	} {
		if got := printable(text); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
}
