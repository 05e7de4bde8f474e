package pluginauthor

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os/exec"
	"strconv"
	"strings"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/conformance"
)

// testCommands are the commands that the file of a plugin's test names. They run in the
// folder of the file.
type testCommands struct{ folder string }

func (t testCommands) run(ctx context.Context, words []string) (string, error) {
	command := exec.CommandContext(ctx, words[0], words[1:]...)
	command.Dir = t.folder
	out, err := command.CombinedOutput()
	text := strings.TrimSpace(string(out))
	if err != nil {
		return text, fmt.Errorf("%s: %w: %s", strings.Join(words, " "), err, text)
	}
	return text, nil
}

// outage makes an outage out of two commands.
func (t testCommands) outage(begin, end []string) func(context.Context) (func(context.Context) error, error) {
	return func(ctx context.Context) (func(context.Context) error, error) {
		if _, err := t.run(ctx, begin); err != nil {
			return nil, err
		}
		return func(ctx context.Context) error {
			_, err := t.run(ctx, end)
			return err
		}, nil
	}
}

// count asks a command how many resources there are.
func (t testCommands) count(words []string) func(context.Context) (int, error) {
	return func(ctx context.Context) (int, error) {
		text, err := t.run(ctx, words)
		if err != nil {
			return 0, err
		}
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			return 0, fmt.Errorf("%s printed %.40q: it must print one number, how many resources there are",
				strings.Join(words, " "), text)
		}
		return n, nil
	}
}

// proxyAt puts the kit's proxy in the place of the URL that an attribute of the provider
// block has.
func proxyAt(attribute string, provider json.RawMessage) (*conformance.Proxy, error) {
	var block map[string]any
	if err := json.Unmarshal(provider, &block); err != nil {
		return nil, err
	}
	target, isText := block[attribute].(string)
	if !isText || target == "" {
		return nil, fmt.Errorf("attribute = %q: the provider block has no text there; name the attribute with the URL "+
			"of the infrastructure", attribute)
	}
	return &conformance.Proxy{Target: target, Provider: func(endpoint string) ([]byte, error) {
		changed := maps.Clone(block)
		changed[attribute] = endpoint
		return json.Marshal(changed)
	}}, nil
}
