//go:build linux || darwin

package local

import (
	"testing"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider"
)

func TestRootByDefaultIsTheInstallationsOwn(t *testing.T) {
	for name, test := range map[string]struct {
		root, installation string
		environment        map[string]string
		want               string // "": an error
	}{
		"as configured": {"/srv/agents/", "inst", nil, "/srv/agents"},
		"in XDG_STATE_HOME": {"", "inst", map[string]string{"XDG_STATE_HOME": "/state", "HOME": "/home/u"},
			"/state/forgeyard-fleet-local/inst"},
		"in the home folder": {"", "inst", map[string]string{"HOME": "/home/u"},
			"/home/u/.local/state/forgeyard-fleet-local/inst"},
		"nowhere to put it":          {"", "inst", nil, ""},
		"an installation with paths": {"", "../inst", map[string]string{"HOME": "/home/u"}, ""},
		"no installation":            {"", "", map[string]string{"HOME": "/home/u"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := rootOf(Config{Root: test.root}, test.installation, func(name string) string {
				return test.environment[name]
			})
			if got != test.want || (err == nil) != (test.want != "") {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}

func TestBlocksRefuse(t *testing.T) {
	for name, test := range map[string]struct {
		block provider.Validator
		want  string // path of the one complaint; "": none
	}{
		"a relative root":          {Config{Root: "agents"}, "root"},
		"a relative runner":        {Config{Runner: "./forgeyard-runner"}, "runner"},
		"nothing when all is well": {Config{Root: "/a", Runner: "/b"}, ""},
		"a priority below zero":    {Instance{Nice: -1}, "nice"},
		"a priority above 19":      {Instance{Nice: 20}, "nice"},
		"a bad variable name":      {Instance{Env: map[string]string{"A=B": "x"}}, "env.A=B"},
		"nothing for good ones":    {Instance{Nice: 19, Env: map[string]string{"_A1": ""}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			found := test.block.Validate()
			got := ""
			if len(found) > 0 {
				got = found[0].Path.String()
			}
			if got != test.want || len(found) > 1 {
				t.Errorf("got %v", found)
			}
		})
	}
}
