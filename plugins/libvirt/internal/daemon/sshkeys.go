package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
)

// usualKeys are what ssh calls a user's keys, in their folder.
var usualKeys = []string{"id_ed25519", "id_ecdsa", "id_rsa"}

// keys are those that we may be known by: the one of keyFile, or all of an agent
// and the usual ones. The agent signs until done is called.
func (w sshWay) keys(ctx context.Context) (keys []ssh.Signer, done func(), err error) {
	done = func() {}
	if w.keyFile != "" {
		key, err := readKey(w.keyFile)
		return []ssh.Signer{key}, done, err
	}
	var unusable []error
	if socket := os.Getenv("SSH_AUTH_SOCK"); socket != "" {
		if keys, done, err = agentKeys(ctx, socket); err != nil {
			unusable = append(unusable, err)
		}
	}
	if home, err := os.UserHomeDir(); err == nil {
		for _, name := range usualKeys {
			key, err := readKey(filepath.Join(home, ".ssh", name))
			switch {
			case err == nil:
				keys = append(keys, key)
			case !errors.Is(err, fs.ErrNotExist):
				unusable = append(unusable, err)
			}
		}
	}
	if len(keys) == 0 {
		done()
		const none = "the manager's user has no key: name one by keyfile=, or run an agent and let the plugin see " +
			"SSH_AUTH_SOCK"
		return nil, nil, errors.Join(append([]error{errors.New(none)}, unusable...)...)
	}
	return keys, done, nil
}

func readKey(path string) (ssh.Signer, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	key, err := ssh.ParsePrivateKey(content)
	if _, locked := errors.AsType[*ssh.PassphraseMissingError](err); locked {
		return nil, fmt.Errorf("the key %s has a passphrase, which can't be typed here: use a key without one, or an agent",
			path)
	}
	if err != nil {
		return nil, fmt.Errorf("read the key %s: %w", path, err)
	}
	return key, nil
}

func agentKeys(ctx context.Context, socket string) (keys []ssh.Signer, done func(), err error) {
	conn, err := new(net.Dialer).DialContext(ctx, "unix", socket)
	if err != nil {
		return nil, func() {}, fmt.Errorf("ask the ssh agent: %w", err)
	}
	done = func() { _ = conn.Close() }
	if deadline, has := ctx.Deadline(); has {
		err = conn.SetDeadline(deadline)
	}
	if err == nil {
		keys, err = agent.NewClient(conn).Signers()
	}
	if err != nil {
		return nil, done, fmt.Errorf("ask the ssh agent: %w", err)
	}
	return keys, done, nil
}
