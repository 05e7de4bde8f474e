package workspace

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFindPlace(t *testing.T) {
	long := "/" + strings.Repeat("long/", 20)
	tests := []struct {
		name, flag string
		env        map[string]string
		state, run string // run: its beginning
		plugins    string
		wrong      string
	}{
		{
			name:    "by default under the home folder",
			env:     map[string]string{"HOME": "/home/ci"},
			state:   "/home/ci/.local/state/forgeyard-fleet/acme",
			run:     "/home/ci/.local/state/forgeyard-fleet/acme/run",
			plugins: "/home/ci/.local/share/forgeyard-fleet/plugins",
		},
		{
			name: "the environment's folders win",
			env: map[string]string{
				"HOME":            "/home/ci",
				"XDG_STATE_HOME":  "/s",
				"XDG_DATA_HOME":   "/d",
				"XDG_RUNTIME_DIR": "/run/user/1",
			},
			state:   "/s/forgeyard-fleet/acme",
			run:     "/run/user/1/forgeyard-fleet/",
			plugins: "/d/forgeyard-fleet/plugins",
		},
		{
			name:    "a relative folder in the environment doesn't count",
			env:     map[string]string{"HOME": "/home/ci", "XDG_STATE_HOME": "s"},
			state:   "/home/ci/.local/state/forgeyard-fleet/acme",
			plugins: "/home/ci/.local/share/forgeyard-fleet/plugins",
		},
		{
			name:    "our own variables win over those",
			env:     map[string]string{"XDG_STATE_HOME": "/s", "FLEET_STATE_DIR": "/mine", "FLEET_PLUGIN_DIR": "/p"},
			state:   "/mine",
			run:     "/mine/run",
			plugins: "/p",
		},
		{
			name:    "the flag wins over all",
			flag:    "/flag",
			env:     map[string]string{"HOME": "/h", "FLEET_STATE_DIR": "/mine"},
			state:   "/flag",
			run:     "/flag/run",
			plugins: "/h/.local/share/forgeyard-fleet/plugins",
		},
		{
			name:    "a service's runtime directory wins for sockets",
			flag:    "/flag",
			env:     map[string]string{"HOME": "/h", "RUNTIME_DIRECTORY": "/run/fleet", "XDG_RUNTIME_DIR": "/run/user/1"},
			state:   "/flag",
			run:     "/run/fleet/forgeyard-fleet/",
			plugins: "/h/.local/share/forgeyard-fleet/plugins",
		},
		{
			name:    "a state directory too deep for sockets gets another place for them",
			flag:    long,
			env:     map[string]string{"HOME": "/h"},
			state:   filepath.Clean(long),
			plugins: "/h/.local/share/forgeyard-fleet/plugins",
		},
		{name: "without a home the error names the way out", wrong: "set --state or FLEET_STATE_DIR"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := FindPlace(tt.flag, "acme", func(name string) (string, bool) { v, ok := tt.env[name]; return v, ok })
			if tt.wrong != "" {
				if err == nil || !strings.Contains(err.Error(), tt.wrong) {
					t.Fatalf("error %v, want %q", err, tt.wrong)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got.State != tt.state || got.Plugins != tt.plugins || !strings.HasPrefix(got.Run, tt.run) {
				t.Errorf("got %+v", got)
			}
			if len(got.Run) > longestRun {
				t.Errorf("a socket's path won't fit below %s", got.Run)
			}
		})
	}
}

// A mistyped FLEET_STATE_DIR=/etc got our database and keys.
func TestADirectoryWithOthersThingsIsNotTakenForTheState(t *testing.T) {
	file := func(name string) func(string) error {
		return func(dir string) error { return os.WriteFile(filepath.Join(dir, name), nil, 0o600) }
	}
	for _, test := range []struct {
		name string
		make func(dir string) error
		says string
	}{
		{"a directory with a file of somebody", file("passwd"), `such as "passwd"`},
		{"one with keys of somebody", func(dir string) error {
			return os.Mkdir(filepath.Join(dir, "keys"), 0o700)
		}, `such as "keys"`},
		{"an empty one", func(string) error { return nil }, ""},
		{"one that isn't there", os.Remove, ""},
		{"the root of a disk", func(dir string) error { return os.Mkdir(filepath.Join(dir, "lost+found"), 0o700) }, ""},
		{"one with a store that was restored", file("fleet.db"), ""},
		{"one whose manager died at once", file("manager.lock"), ""},
		{"a file", func(dir string) error {
			return errors.Join(os.Remove(dir), os.WriteFile(dir, nil, 0o600))
		}, "not a directory"},
	} {
		dir := t.TempDir()
		if err := test.make(dir); err != nil {
			t.Fatal(err)
		}
		before, _ := os.ReadDir(dir)
		_, err := FindPlace(dir, "demo", func(name string) (string, bool) { return "/home/ada", name == "HOME" })
		if test.says == "" && err != nil || test.says != "" && (err == nil || !strings.Contains(err.Error(), test.says)) {
			t.Errorf("%s: %v", test.name, err)
		}
		if test.says == "" {
			continue
		}
		if after, _ := os.ReadDir(dir); len(after) != len(before) {
			t.Errorf("%s: something was written: %v", test.name, after)
		}
	}
}
