package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	api "github.com/digitalocean/go-libvirt"
)

// Target is where a daemon is and which of its drivers is meant: a URI of libvirt.
type Target struct {
	text   string
	driver api.ConnectURI
	dial   dialler
}

// dialler makes one connection before the context's deadline, or leaves nothing
// behind. To close it needs no word of the other side, and ends every read of it.
type dialler func(context.Context) (net.Conn, error)

// systemSocket is where a host's own daemon listens.
const systemSocket = "/var/run/libvirt/libvirt-sock"

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
		return fail("plain TCP doesn't authenticate the caller; use ssh or tls")
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
	for name, values := range u.Query() {
		if !slices.Contains(known, name) {
			return fail("the parameter %q isn't known; with %s there are %s", name, transport, strings.Join(known, ", "))
		}
		if !filepath.IsAbs(values[0]) {
			return fail("%s=%s isn't an absolute path", name, values[0])
		}
	}
	if driver == "qemu" && u.Path != "/system" && (u.Path != "/session" || u.Query().Get("socket") == "") {
		return fail(`it must end in /system; a user's own daemon is /session with its socket, such as "qemu:///session?socket=/run/user/1000/libvirt/libvirt-sock"`)
	}
	target := Target{text: text, driver: api.ConnectURI((&url.URL{Scheme: driver, Path: u.Path}).String())}
	switch transport {
	case "unix":
		target.dial = overSocket(u)
	case "tls":
		target.dial, err = overTLS(u)
	case "ssh":
		target.dial, err = overSSH(u)
	}
	if err != nil {
		return fail("%w", err)
	}
	return target, nil
}

func overSocket(u *url.URL) dialler {
	socket := cmp.Or(u.Query().Get("socket"), systemSocket)
	return func(ctx context.Context) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, "unix", socket)
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED):
			return nil, fmt.Errorf("%w: start its daemon (systemctl start libvirtd), or name its socket in the host's uri", err)
		case errors.Is(err, fs.ErrPermission):
			return nil, fmt.Errorf(
				"%w: put the user of the manager into the group of the socket (mostly libvirt), and restart the manager", err)
		}
		return conn, err
	}
}

// hostAndPort has the URI's port, or the usual one.
func hostAndPort(u *url.URL, usual string) string {
	return net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), usual))
}
