package daemon

import (
	"bytes"
	"cmp"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
)

const sshPort = "22"

var noDeadline time.Time

// sshWay is the way to a daemon through a host's ssh server, which connects us to
// the daemon's socket.
type sshWay struct {
	address, user string
	keyFile       string // empty: an agent's keys and the usual ones
	knownHosts    string
	socket        string
}

func overSSH(u *url.URL) (dialler, error) {
	query := u.Query()
	w := sshWay{
		address: hostAndPort(u, sshPort), user: u.User.Username(),
		keyFile: query.Get("keyfile"), knownHosts: query.Get("known_hosts"),
		socket: cmp.Or(query.Get("socket"), systemSocket),
	}
	if w.user == "" {
		current, err := user.Current()
		if err != nil {
			return nil, fmt.Errorf("the user is missing, as in qemu+ssh://user@host/system: %w", err)
		}
		w.user = current.Username
	}
	if w.knownHosts == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return nil, errors.New("HOME isn't set, so known_hosts must be")
		}
		w.knownHosts = filepath.Join(home, ".ssh", "known_hosts")
	}
	return w.dial, nil
}

// dial gives the socket's connection, and with it everything under it: the ssh
// connection isn't shared.
func (w sshWay) dial(ctx context.Context) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", w.address)
	if err != nil {
		return nil, err
	}
	// The handshake knows no context; a deadline ends it just as well.
	if deadline, has := ctx.Deadline(); has {
		err = conn.SetDeadline(deadline)
	}
	var client *ssh.Client
	if err == nil {
		client, err = w.greet(ctx, conn)
	}
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	channel, err := client.Dial("unix", w.socket)
	if err == nil {
		err = conn.SetDeadline(noDeadline)
	}
	if err != nil {
		_ = client.Close()
		return nil, w.refusedSocket(err)
	}
	return sshConn{channel, conn}, nil
}

// sshConn is a channel whose end is that of the connection under it. A channel's
// own end waits for the other side.
type sshConn struct {
	net.Conn
	under net.Conn
}

// Close ends both at once.
func (c sshConn) Close() error { return c.under.Close() }

func (w sshWay) refusedSocket(err error) error {
	if refusal, ok := errors.AsType[*ssh.OpenChannelError](err); ok {
		return fmt.Errorf(
			"the host lets %s in and not to %s: %w: is that user in the group libvirt there, does the daemon run, and does "+
				"its sshd allow it (AllowStreamLocalForwarding)?", w.user, w.socket, refusal)
	}
	return err
}

// greet proves each side to the other.
func (w sshWay) greet(ctx context.Context, conn net.Conn) (*ssh.Client, error) {
	known, algorithms, err := w.hostKeys(conn)
	if err != nil {
		return nil, err
	}
	keys, closeKeys, err := w.keys(ctx)
	if err != nil {
		return nil, err
	}
	defer closeKeys()
	var doubt error
	proven := false
	c, channels, requests, err := ssh.NewClientConn(conn, w.address, &ssh.ClientConfig{
		User: w.user, Auth: []ssh.AuthMethod{ssh.PublicKeys(keys...)}, HostKeyAlgorithms: algorithms,
		HostKeyCallback: func(address string, remote net.Addr, key ssh.PublicKey) error {
			doubt = w.doubt(known(address, remote, key), key)
			proven = doubt == nil
			return doubt
		},
	})
	switch {
	case err == nil:
		return ssh.NewClient(c, channels, requests), nil
	case doubt != nil:
		return nil, doubt
	case proven && ctx.Err() == nil && !errors.Is(err, os.ErrDeadlineExceeded):
		return nil, fmt.Errorf("%w: put one of these keys into the authorized_keys of %s there: %s", err, w.user,
			fingerprints(keys))
	}
	return nil, err
}

// hostKeys are those that the host may have, and of which kinds they are: a server
// has several, and one that isn't asked for a kind that is known shows another.
func (w sshWay) hostKeys(conn net.Conn) (ssh.HostKeyCallback, []string, error) {
	known, err := knownhosts.New(w.knownHosts)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("%w: connect by ssh once as the manager's user, or name the file by known_hosts=", err)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read the known hosts in %s: %w", w.knownHosts, err)
	}
	if content, err := os.ReadFile(w.knownHosts); err != nil || bytes.Contains(content, []byte("@cert-authority")) {
		return known, nil, err // a certificate's kind isn't its authority's
	}
	none, err := ssh.NewPublicKey(make(ed25519.PublicKey, ed25519.PublicKeySize))
	if err != nil {
		return nil, nil, err
	}
	var algorithms []string
	if mismatch, ok := errors.AsType[*knownhosts.KeyError](known(w.address, conn.RemoteAddr(), none)); ok {
		for _, want := range mismatch.Want {
			if want.Key.Type() == ssh.KeyAlgoRSA {
				algorithms = append(algorithms, ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256)
			} else {
				algorithms = append(algorithms, want.Key.Type())
			}
		}
	}
	return known, algorithms, nil
}

// doubt says what is wrong with the host's key, and what a person can do.
func (w sshWay) doubt(err error, shown ssh.PublicKey) error {
	mismatch, ok := errors.AsType[*knownhosts.KeyError](err)
	if !ok {
		return err
	}
	its := shown.Type() + " " + ssh.FingerprintSHA256(shown)
	if len(mismatch.Want) == 0 {
		return fmt.Errorf("the key of the host (%s) isn't in %s: compare it and connect by ssh once as the manager's user",
			its, w.knownHosts)
	}
	return fmt.Errorf(
		"the host shows another key (%s) than %s has in line %d: somebody may be in between; where the host has a new key, "+
			"replace the line", its, w.knownHosts, mismatch.Want[0].Line)
}

func fingerprints(keys []ssh.Signer) string {
	var all []string
	for _, key := range keys {
		all = append(all, key.PublicKey().Type()+" "+ssh.FingerprintSHA256(key.PublicKey()))
	}
	return strings.Join(all, ", ")
}
