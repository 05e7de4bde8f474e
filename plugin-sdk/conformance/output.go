package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// The rules about what was said come last, when everything has been.
var outputRules = []Rule{
	{
		Name: "stdout-silent", check: stdoutSilent, Process: true,
		Says: "Nothing but the handshake goes to standard output.",
	},
	{
		Name: "log-lines-parse", check: logLinesParse, Process: true,
		Says: "Every log line is a JSON object with @level and @message.",
	},
	{
		Name: "secrets-unlogged", check: secretsUnlogged,
		Says: "No sensitive value and no bootstrap token is in a log.",
	},
}

// heard is everything that every plugin of the run wrote.
func (b *bench) heard() ([]Line, error) {
	err := b.stop()
	return b.said, err
}

func stdoutSilent(_ context.Context, b *bench) error {
	lines, err := b.heard()
	if err != nil {
		return err
	}
	for _, line := range lines {
		if line.Stdout {
			return fmt.Errorf("it printed %q", clip(line.Text))
		}
	}
	return nil
}

// levels are hclog's.
var levels = []string{"trace", "debug", "info", "warn", "error"}

func logLinesParse(_ context.Context, b *bench) error {
	lines, err := b.heard()
	if err != nil {
		return err
	}
	for _, line := range lines {
		if line.Stdout || strings.TrimSpace(line.Text) == "" {
			continue
		}
		var fields map[string]any
		if err := json.Unmarshal([]byte(line.Text), &fields); err != nil {
			return fmt.Errorf("the line %q is not a JSON object; write it by the logger of the SDK, or as hclog does",
				clip(line.Text))
		}
		level, _ := fields["@level"].(string)
		if _, isText := fields["@message"].(string); !isText || !slices.Contains(levels, level) {
			return fmt.Errorf("the line %q lacks a @message that is text, or a @level among %s", clip(line.Text),
				strings.Join(levels, ", "))
		}
	}
	return nil
}

func secretsUnlogged(_ context.Context, b *bench) error {
	lines, err := b.heard()
	if err != nil {
		return err
	}
	for _, line := range lines {
		for _, secret := range b.secrets {
			if strings.Contains(line.Text, secret) {
				return fmt.Errorf("a secret that the plugin was given stands in the line %q", clip(b.covered(line.Text)))
			}
		}
	}
	return nil
}

// clip keeps a plugin's text from filling a message.
func clip(text string) string {
	const enough = 200
	if len(text) <= enough {
		return text
	}
	return strings.ToValidUTF8(text[:enough], "") + "…"
}
