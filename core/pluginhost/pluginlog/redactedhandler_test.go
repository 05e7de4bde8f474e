package pluginlog

import (
	"context"
	"encoding/base64"
	"errors"
	"log/slog"
	"strings"
	"testing"
)

func TestALogShowsNoSecretWhateverIsLogged(t *testing.T) {
	const (
		planted = "hunter2/planted+<secret>"
		token   = "fyt1.01JZZZZZZZZZZZZZZZZZZZZZZZ.abcdefghijklmnopqrstuvwxyz234567abcdefghijklmnopqrst"
	)
	encoded := base64.StdEncoding.EncodeToString([]byte("user:" + planted))
	log := &strings.Builder{}
	redacted := &Redactor{}
	redacted.Learn([]string{planted, "two\tparts"})
	logger := slog.New(NewRedactedHandler(debugLogger(log).Handler(), redacted)).With("with", planted).WithGroup("group")
	logger.Info(
		planted,
		"text",
		planted,
		planted,
		"key",
		"error",
		errors.New(planted),
		"any",
		[]string{planted},
		slog.Group("inner", "deep", planted),
		"value",
		valuer{planted},
	)
	logger.LogAttrs(context.Background(), slog.LevelInfo, Printable("two\tparts"), slog.Int("number", 7))
	for _, form := range []string{planted, planted[:4], encoded[8:24], token[32:]} {
		if strings.Contains(log.String(), form) {
			t.Errorf("the log shows %q:\n%s", form, log)
		}
	}
	for _, want := range []string{"group.number=7", "group.inner.deep=(hidden)", "group.value=(hidden)", `msg=(hidden)`} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("%s is not in\n%s", want, log)
		}
	}
	if strings.Contains(log.String(), "two parts") {
		t.Errorf("a secret that was made printable is shown:\n%s", log)
	}
}

type valuer struct{ text string }

func (v valuer) LogValue() slog.Value { return slog.StringValue(v.text) }
