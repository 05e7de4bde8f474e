package daemon

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	api "github.com/digitalocean/go-libvirt"
	"github.com/digitalocean/go-libvirt/socket/dialers"
)

// Target is where a daemon is and which of its drivers is meant: a URI of libvirt.
type Target struct {
	text   string
	driver api.ConnectURI
	dial   func() (net.Conn, error)
}

func (t Target) String() string { return t.text }

// The transports, and the parameters that each takes.
var transports = map[string][]string{
	"unix": {"socket"},
	"tls":  {"pkipath"},
	"ssh":  {"socket", "keyfile", "known_hosts"},
}

// ParseTarget reads a URI such as qemu:///system, qemu+ssh://user@host/system or
// qemu+tls://host/system. Plain TCP isn't taken: nothing would tell who calls.
func ParseTarget(text string) (Target, error) {
	fail := func(format string, arguments ...any) (Target, error) {
		return Target{}, fmt.Errorf("%q: "+format, append([]any{text}, arguments...)...)
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme == "" || u.Path == "" || u.Opaque != "" {
		return fail(`no URI of libvirt; write one such as "qemu:///system" or "qemu+ssh://user@host/system"`)
	}
	driver, transport, said := strings.Cut(u.Scheme, "+")
	switch {
	case !said && u.Host == "":
		transport = "unix"
	case !said:
		transport = "tls"
	}
	known, ok := transports[transport]
	switch {
	case transport == "tcp":
		return fail("plain TCP tells nobody who calls; use ssh or tls")
	case !ok:
		return fail("the transport %q isn't known; there are unix, ssh and tls", transport)
	case transport == "unix" && u.Host != "":
		return fail("a socket of this machine has no host; use ssh or tls")
	case transport != "unix" && u.Hostname() == "":
		return fail("the host is missing")
	case driver != "qemu" && driver != "test":
		return fail("the driver %q isn't one that this plugin was made for; there is qemu", driver)
	}
	if _, secret := u.User.Password(); secret {
		return fail("a password doesn't belong there; use a key")
	}
	for name := range u.Query() {
		if !slices.Contains(known, name) {
			return fail("the parameter %q isn't known; with %s there are %s", name, transport, strings.Join(known, ", "))
		}
	}
	target := Target{text: text, driver: api.ConnectURI((&url.URL{Scheme: driver, Path: u.Path}).String())}
	target.dial, err = dialler(transport, u)
	if err != nil {
		return fail("%w", err)
	}
	return target, nil
}

func dialler(transport string, u *url.URL) (func() (net.Conn, error), error) {
	query := u.Query()
	switch transport {
	case "unix":
		var options []dialers.LocalOption
		if path := query.Get("socket"); path != "" {
			options = append(options, dialers.WithSocket(path))
		}
		return dialers.NewLocal(options...).Dial, nil
	case "tls":
		var options []dialers.TLSOption
		if u.Port() != "" {
			options = append(options, dialers.UseTLSPort(u.Port()))
		}
		if path := query.Get("pkipath"); path != "" {
			options = append(options, dialers.UsePKIPath(path))
		}
		return dialers.NewTLS(u.Hostname(), options...).Dial, nil
	}
	knownHosts := query.Get("known_hosts")
	if knownHosts == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return nil, errors.New("HOME isn't set, so known_hosts must be")
		}
		knownHosts = filepath.Join(home, ".ssh", "known_hosts")
	}
	options := []dialers.SSHOption{dialers.UseKnownHostsFile(knownHosts)}
	if u.Port() != "" {
		options = append(options, dialers.UseSSHPort(u.Port()))
	}
	if name := u.User.Username(); name != "" {
		options = append(options, dialers.UseSSHUsername(name))
	}
	if path := query.Get("keyfile"); path != "" {
		options = append(options, dialers.UseKeyFile(path))
	}
	if path := query.Get("socket"); path != "" {
		options = append(options, dialers.WithRemoteSocket(path))
	}
	return dialers.NewSSH(u.Hostname(), options...).Dial, nil
}
