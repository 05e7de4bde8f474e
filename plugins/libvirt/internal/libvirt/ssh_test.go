package libvirt

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider"
)

// sshHost is an ssh server on this machine, for one test, through which the
// test's user reaches a lab's daemon.
type sshHost struct {
	t      *testing.T
	dir    string
	port   string
	server int // its process
}

// newSSHHost starts one with a key of each kind, as hosts have them.
func newSSHHost(t *testing.T, l *lab, more string) *sshHost {
	t.Helper()
	server, err := exec.LookPath("sshd")
	if err != nil {
		server = "/usr/sbin/sshd"
	}
	if _, err := os.Stat(server); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("sshd is missing (Debian: apt-get install openssh-server)")
		}
		t.Skip("SKIP: sshd is missing (Debian: apt-get install openssh-server)")
	}
	dir, err := os.MkdirTemp(l.dir, "ssh")
	if err != nil {
		t.Fatal(err)
	}
	s := &sshHost{t: t, dir: dir, port: freePort(t)}
	if err := os.MkdirAll("/run/sshd", 0o755); err != nil { // it wants this whatever its configuration says
		t.Fatal(err)
	}
	config := fmt.Sprintf(
		"Port %s\nListenAddress 127.0.0.1\nPidFile none\nUsePAM no\nStrictModes no\nPermitRootLogin "+
			"yes\nPasswordAuthentication no\nAuthorizedKeysFile %s/key.pub\nLogLevel ERROR\n%s\n", s.port, s.dir, more)
	for _, kind := range []string{"rsa", "ecdsa", "ed25519"} {
		s.makeKey("host_"+kind, kind, "")
		config += "HostKey " + s.dir + "/host_" + kind + "\n"
	}
	s.makeKey("key", "ed25519", "")
	s.makeKey("other", "ed25519", "")
	s.makeKey("locked", "ed25519", "secret")
	s.write("config", config)
	s.write("known_hosts", s.line("host_ed25519")) // as ssh itself writes it: one kind of several
	c := exec.Command(server, "-D", "-e", "-f", filepath.Join(s.dir, "config"))
	c.Stderr = t.Output()
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	s.server = c.Process.Pid
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	})
	eventually(t, "sshd listens", func() bool {
		conn, err := net.Dial("tcp", "127.0.0.1:"+s.port)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	})
	return s
}

func (s *sshHost) makeKey(name, kind, passphrase string) {
	s.t.Helper()
	if out, err := exec.Command("ssh-keygen", "-q", "-t", kind, "-N", passphrase, "-f",
		filepath.Join(s.dir, name)).CombinedOutput(); err != nil {
		s.t.Fatalf("%v\n%s", err, out)
	}
}

// line is one of known_hosts.
func (s *sshHost) line(key string) string {
	s.t.Helper()
	content, err := os.ReadFile(filepath.Join(s.dir, key+".pub"))
	if err != nil {
		s.t.Fatal(err)
	}
	return "[127.0.0.1]:" + s.port + " " + string(content)
}

func (s *sshHost) write(name, content string) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, name), []byte(content), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// block is the host in the provider block, with files of the server's folder.
func (s *sshHost) block(key, knownHosts, socket string) Host {
	return Host{
		Name: "a", Pool: "default", VCPUs: 64, Memory: "64GiB",
		URI: fmt.Sprintf("qemu+ssh://root@127.0.0.1:%s/system?keyfile=%s/%s&known_hosts=%s/%s&socket=%s", s.port, s.dir, key,
			s.dir, knownHosts, socket),
	}
}

// connections counts the server's processes that serve one each.
func (s *sshHost) connections() int {
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", s.server, s.server))
	if err != nil {
		s.t.Fatal(err)
	}
	return len(strings.Fields(string(children)))
}

func TestAMachineIsMadeAndEndsOverSSHAndNoConnectionStays(t *testing.T) {
	t.Parallel()
	needLong(t)
	l := newLab(t)
	s := newSSHHost(t, l, "")
	p := giving(t, plenty, newTestHosts(t, s.block("key", "known_hosts", l.socket())))
	provision(t, p, "k1")
	if found := list(t, p)["a/k1"]; found.State != provider.Running {
		t.Errorf("listed %+v", found)
	}
	// The daemon stalls, and the way to it lives on: what is given up is closed.
	giving(t, little, p)
	list(t, p)
	l.tell(t, "signal 19")
	for range 2 {
		for _, err := range p.Inspect(t.Context(), provider.Query{}) {
			if err == nil {
				t.Error("a stalled daemon is seen")
			}
		}
	}
	l.tell(t, "signal 18")
	eventually(t, "the connections that were given up are closed", func() bool { return s.connections() == 0 })
	giving(t, plenty, p)
	terminate(t, p, "a/k1", "k1")
	l.shouldBeEmpty(t)
	for _, h := range p.all {
		h.Close()
	}
	eventually(t, "no connection stays", func() bool { return s.connections() == 0 })
}

func TestWhatIsWrongWithAWayOverSSHIsSaidWithWhatToDo(t *testing.T) {
	t.Parallel()
	needLong(t)
	l := newLab(t)
	s := newSSHHost(t, l, "")
	closed := newSSHHost(t, l, "AllowStreamLocalForwarding no")
	s.write("nobody", "")
	s.write("rsa_alone", s.line("host_rsa"))
	s.write("another", strings.Replace(s.line("other"), "\n", "", 1)+"\n")
	for name, test := range map[string]struct {
		block Host
		want  []string // nothing: it works
	}{
		"a host that is known by its RSA key": {s.block("key", "rsa_alone", l.socket()), nil},
		"a host that isn't known": {s.block("key", "nobody", l.socket()),
			[]string{"isn't in " + s.dir + "/nobody", "SHA256:", "connect by ssh once"}},
		"a host with another key": {s.block("key", "another", l.socket()),
			[]string{"another key", "line 1", "somebody may be in between"}},
		"no file of known hosts": {s.block("key", "nowhere", l.socket()),
			[]string{s.dir + "/nowhere", "known_hosts="}},
		"a key that isn't authorized": {s.block("other", "known_hosts", l.socket()),
			[]string{"authorized_keys of root", "SHA256:"}},
		"a key with a passphrase": {s.block("locked", "known_hosts", l.socket()),
			[]string{s.dir + "/locked has a passphrase"}},
		"a key that isn't there": {s.block("none", "known_hosts", l.socket()), []string{s.dir + "/none"}},
		"a socket that isn't there": {s.block("key", "known_hosts", "/nowhere"),
			[]string{"root in and not to /nowhere", "group libvirt"}},
		"a server that forwards nothing": {closed.block("key", "known_hosts", l.socket()),
			[]string{"AllowStreamLocalForwarding"}},
	} {
		p := giving(t, plenty, newTestHosts(t, test.block))
		_, err := p.all[0].capacity(context.WithoutCancel(t.Context()))
		if (err == nil) != (test.want == nil) {
			t.Errorf("%s: %v", name, err)
		}
		for _, want := range test.want {
			if err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v: it lacks %q", name, err, want)
			}
		}
		p.all[0].Close()
	}
}
