//go:build linux || darwin

package local

import (
	"errors"
	"slices"
	"testing"
)

func TestAgentsGetAScopeOfTheirOwnInsideAService(t *testing.T) {
	const (
		service = "0::/system.slice/forgeyard-fleet.service\n"
		below   = "0::/system.slice/forgeyard-fleet.service/plugins\n"
		legacy  = "12:memory:/system.slice/other.service\n1:name=systemd:/system.slice/forgeyard-fleet.service\n"
		desktop = "0::/user.slice/user-1000.slice/user@1000.service/app.slice/app-terminal.scope\n"
		user    = "0::/user.slice/user-1000.slice/user@1000.service/app.slice/fleet.service\n"
		plain   = "8:memory:/container/x.service\n0::/\n"
	)
	asRoot := []string{"/bin/systemd-run", "--scope", "--quiet", "--collect"}
	asUser := append(slices.Clone(asRoot), "--user")
	for name, test := range map[string]struct {
		cgroup    string
		uid       int
		installed bool
		runtime   string
		want      []string
	}{
		"a service of the system":                    {service, 0, true, "", asRoot},
		"a control group below the service's":        {below, 0, true, "", asRoot},
		"a service under cgroup v1":                  {legacy, 0, true, "", asRoot},
		"a user's own service":                       {user, 1000, true, "/run/user/1000", asUser},
		"a service as a user without own manager":    {service, 999, true, "", nil},
		"a service on a machine without systemd-run": {service, 0, false, "", nil},
		"a terminal of a desktop":                    {desktop, 1000, true, "/run/user/1000", nil},
		"a container":                                {plain, 0, true, "", nil},
		"no control groups at all":                   {"", 0, true, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			lookPath := func(string) (string, error) {
				if test.installed {
					return "/bin/systemd-run", nil
				}
				return "", errors.New("not found")
			}
			getenv := func(string) string { return test.runtime }
			if got := scopeCommand(test.cgroup, test.uid, lookPath, getenv); !slices.Equal(got, test.want) {
				t.Errorf("got %q, wanted %q", got, test.want)
			}
		})
	}
}
