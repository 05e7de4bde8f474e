package daemon

import (
	"context"
	"errors"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	api "github.com/digitalocean/go-libvirt"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider"
)

func TestATargetIsAURIOfLibvirtByWhichSomebodyIsKnown(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	for text, refused := range map[string]string{
		"qemu:///system":                           "",
		"qemu:///system?socket=/run/x":             "",
		"qemu+unix:///session?socket=/run/s":       "",
		"qemu:///session":                          "with its socket",
		"qemu:///":                                 "must end in /system",
		"qemu+ssh://ci@host/system?keyfile=~/.k":   "isn't an absolute path",
		"qemu+ssh://ci@host/system?keyfile=/k":     "",
		"qemu+ssh://host:2222/system?socket=/s":    "",
		"qemu+tls://host/system?pkipath=/p":        "",
		"qemu://host/system":                       "",
		"test:///default":                          "",
		"":                                         "no URI of libvirt",
		"/var/run/libvirt/libvirt-sock":            "no URI of libvirt",
		"qemu+tcp://host/system":                   "plain TCP",
		"qemu+telnet://host/system":                `"telnet" isn't known`,
		"qemu+ssh:///system":                       "the host is missing",
		"qemu+unix://host/system":                  "has no host",
		"xen:///system":                            `"xen"`,
		"qemu+ssh://ci:secret@host/system":         "a password doesn't belong there",
		"qemu+ssh://ci@host/system?no_verify=1":    `"no_verify" isn't known`,
		"qemu:///system?keyfile=/k":                `"keyfile" isn't known`,
		"qemu+ssh://ci@host/system?known_hosts=/k": "",
	} {
		_, err := ParseTarget(text)
		if (err == nil) != (refused == "") || err != nil && !strings.Contains(err.Error(), refused) {
			t.Errorf("%q: %v, wanted %q", text, err, refused)
		}
	}
}

func TestASocketThatNobodyListensOnIsSaidWithWhatToDo(t *testing.T) {
	left := filepath.Join(t.TempDir(), "s") // as a daemon that was killed leaves it
	listener, err := net.Listen("unix", left)
	if err != nil {
		t.Fatal(err)
	}
	listener.(*net.UnixListener).SetUnlinkOnClose(false)
	_ = listener.Close()
	for _, socket := range []string{"/nowhere", left} {
		target, err := ParseTarget("qemu:///system?socket=" + socket)
		if err != nil {
			t.Fatal(err)
		}
		err = New("a", target, Limits{Connect: time.Minute}).Look(t.Context(), "ask", func(*api.Libvirt) error { return nil })
		if err == nil || !strings.Contains(err.Error(), "host a can't be reached") ||
			!strings.Contains(err.Error(), "systemctl start libvirtd") {
			t.Errorf("%s: %v", socket, err)
		}
	}
}

// silent takes connections, hears what they say, and never answers.
func silent(t *testing.T) Target {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	serve(t, listener, func(net.Conn) {})
	target, err := ParseTarget("qemu:///system?socket=" + socket)
	if err != nil {
		t.Fatal(err)
	}
	return target
}

func TestADaemonThatTakesCallsAndNeverAnswersIsGivenUp(t *testing.T) {
	d := New("a", silent(t), Limits{Connect: 100 * time.Millisecond, Call: 100 * time.Millisecond})
	for name, call := range map[string]func(context.Context, string, Call) error{"look": d.Look, "change": d.Change} {
		err := call(t.Context(), "ask", func(*api.Libvirt) error {
			t.Error("it was called without a connection")
			return nil
		})
		if unreachable, ok := errors.AsType[*UnreachableError](err); !ok ||
			!strings.Contains(unreachable.Error(), "ask: host a can't be reached") || !errors.Is(err, errHangs) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if names, err := d.Lifecycle(t.Context()); err == nil || names != nil {
		t.Errorf("a subscription: %v", err)
	}
}

func TestHungCallEndsItsConnectionAndAllCallers(t *testing.T) {
	ours, theirs := net.Pipe()
	defer theirs.Close()
	go func() { _, _ = io.Copy(io.Discard, theirs) }()
	c := &connection{wire: newWire(ours)}
	waits := func(*api.Libvirt) error {
		_, err := c.wire.Read(make([]byte, 1))
		return err
	}
	ended := make(chan bool)
	go func() { // another call on the same connection, with time to spare
		_, late := c.run(time.Minute, waits)
		ended <- late
	}()
	if err, late := c.run(50*time.Millisecond, waits); err == nil || !late || !c.isDead() {
		t.Errorf("it ended with %v, late %v, dead %v", err, late, c.isDead())
	}
	select {
	case late := <-ended:
		if late {
			t.Error("the other call was taken for late")
		}
	case <-time.After(10 * time.Second):
		t.Error("the other call waits on")
	}
}

func TestACallThatIsDeafToItsConnectionIsAbandoned(t *testing.T) {
	ours, theirs := net.Pipe()
	defer theirs.Close()
	c := &connection{wire: newWire(ours)}
	forever := make(chan struct{})
	defer close(forever)
	if err, late := c.run(10*time.Millisecond, func(*api.Libvirt) error { <-forever; return nil }); !late || err == nil {
		t.Errorf("got %v, %v", err, late)
	}
}

func TestAnAnswerThatCantBeReadEndsTheCallAndNotThePlugin(t *testing.T) {
	ours, theirs := net.Pipe()
	defer theirs.Close()
	c := &connection{wire: newWire(ours)}
	if err, late := c.run(time.Minute, func(*api.Libvirt) error {
		panic("odd")
	}); late || err == nil || !strings.Contains(err.Error(), "can't be read: odd") {
		t.Errorf("got %v, %v", err, late)
	}
}

func TestAClassSaysWhatTheHostDoes(t *testing.T) {
	for code, want := range map[api.ErrorNumber]provider.Class{
		api.ErrAuthFailed: provider.Auth, api.ErrAccessDenied: provider.Permission, api.ErrXMLError: provider.Invalid,
		api.ErrNoStorageVol: provider.Invalid, api.ErrNoMemory: provider.Capacity, api.ErrOperationFailed: provider.Transient,
	} {
		if got := ClassOf(api.Error{Code: uint32(code)}); got != want {
			t.Errorf("%d is of class %d, not %d", code, got, want)
		}
	}
	if ClassOf(io.EOF) != provider.Transient || Said(io.EOF) != 0 || IsNotFound(io.EOF) {
		t.Error("what no daemon said was taken for its word")
	}
}

// Other callers of the connection are free at once, and may reconnect before the one
// that lost its answer has noticed.
func TestReconnectWaitsForDaemonAfterLostAnswer(t *testing.T) {
	ours, theirs := net.Pipe()
	defer theirs.Close()
	d := New("a", silent(t), Limits{Connect: time.Second, Call: time.Minute, Settle: time.Second})
	d.current = &connection{wire: newWire(ours)}
	within, release, over := make(chan struct{}), make(chan struct{}), make(chan error)
	go func() {
		over <- d.Change(t.Context(), "define", func(*api.Libvirt) error {
			close(within)
			<-release
			return io.ErrUnexpectedEOF
		})
	}()
	<-within
	waits := func() bool {
		began := time.Now()
		if err := d.settle(t.Context()); err != nil {
			t.Error(err)
		}
		return time.Since(began) >= time.Second
	}
	if !waits() {
		t.Error("while the change waits for its answer, a new connection is believed at once")
	}
	close(release)
	if err := <-over; err == nil {
		t.Error("the change has its answer")
	}
	if !waits() {
		t.Error("after the answer was lost, a new connection is believed at once")
	}
	if waits() {
		t.Error("it waits again, and nothing was asked since")
	}
}
