//go:build unix

package postgrestest

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// patience bounds the start and the stop of the server.
const patience = time.Minute

// ErrMissing says that no PostgreSQL server is installed.
var ErrMissing = errors.New("no PostgreSQL server found in PATH or /usr/lib/postgresql: install the package postgresql")

// Cluster is one private server for one test binary. The zero value is ready:
// the first Database starts the server. TestMain calls Stop after the tests.
type Cluster struct {
	start     sync.Once
	startErr  error
	folder    string
	server    *exec.Cmd
	exited    chan struct{}
	databases int
	mu        sync.Mutex
}

// Database makes an empty database for the test and returns its URL.
func (c *Cluster) Database(t testing.TB) string {
	t.Helper()
	c.start.Do(func() { c.startErr = c.startServer() })
	if errors.Is(c.startErr, ErrMissing) && os.Getenv("CI") != "true" {
		t.Skip(c.startErr)
	}
	if c.startErr != nil {
		t.Fatalf("start PostgreSQL: %v", c.startErr)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.databases++
	name := fmt.Sprintf("test%d", c.databases)
	conn, err := pgx.Connect(t.Context(), c.url("postgres"))
	if err != nil {
		t.Fatalf("connect to make a database: %v", err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	if _, err := conn.Exec(t.Context(), "CREATE DATABASE "+name); err != nil {
		t.Fatalf("make a database: %v", err)
	}
	return c.url(name)
}

// Stop ends the server, if one was started, and removes its folder.
func (c *Cluster) Stop() error {
	if c.folder == "" {
		return nil
	}
	var err error
	if c.exited != nil {
		// SIGQUIT: at once and without a checkpoint, since all of it goes.
		err = c.server.Process.Signal(syscall.SIGQUIT)
		select {
		case <-c.exited:
			err = nil
		case <-time.After(patience):
			err = errors.Join(
				err,
				fmt.Errorf("the PostgreSQL server (pid %d) ignored SIGQUIT", c.server.Process.Pid),
				c.server.Process.Kill(),
			)
			<-c.exited
		}
	}
	return errors.Join(err, os.RemoveAll(c.folder))
}

func (c *Cluster) url(database string) string {
	return "postgres:///" + database + "?user=postgres&host=" + c.folder
}

// startServer makes the cluster and waits until it takes connections.
func (c *Cluster) startServer() error {
	programs, err := findPrograms()
	if err != nil {
		return err
	}
	// The path of a unix socket is limited to about a hundred bytes, so the
	// folder is not one of testing's.
	if c.folder, err = os.MkdirTemp("", "pg"); err != nil {
		return err
	}
	owner, err := serverUser(c.folder)
	if err != nil {
		return err
	}
	data := filepath.Join(c.folder, "data")
	initdb := exec.Command(filepath.Join(programs, "initdb"), "--pgdata", data, "--username=postgres",
		"--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync")
	initdb.Dir, initdb.Env = c.folder, environment()
	initdb.SysProcAttr = &syscall.SysProcAttr{Credential: owner}
	if out, err := initdb.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	c.server = exec.Command(filepath.Join(programs, "postgres"), "-D", data, "-k", c.folder,
		"-c", "listen_addresses=", "-c", "fsync=off", "-c", "full_page_writes=off", "-c", "max_connections=200",
		"-c", "shared_buffers=32MB", "-c", "log_min_messages=log")
	c.server.Dir, c.server.Env = c.folder, environment()
	c.server.SysProcAttr = &syscall.SysProcAttr{Credential: owner}
	endWithParent(c.server.SysProcAttr)
	return c.run()
}

// run starts the server and returns once it is ready or has ended. A goroutine
// of its own waits for the server on a thread of its own, since the kernel takes
// the end of the thread that started a child for the parent's end.
func (c *Cluster) run() error {
	log, logEnd := io.Pipe()
	c.server.Stderr = logEnd
	started := make(chan error)
	c.exited = make(chan struct{})
	go func() {
		runtime.LockOSThread()
		defer close(c.exited)
		err := c.server.Start()
		started <- err
		if err == nil {
			logEnd.CloseWithError(c.server.Wait())
		}
	}()
	if err := <-started; err != nil {
		return err
	}
	ready := make(chan error, 1)
	go func() {
		var said bytes.Buffer
		lines := bufio.NewScanner(log)
		for lines.Scan() {
			fmt.Fprintln(&said, lines.Text())
			if strings.Contains(lines.Text(), "ready to accept connections") {
				ready <- nil
				break
			}
		}
		select {
		case ready <- fmt.Errorf("the server ended: %v\n%s", lines.Err(), said.Bytes()):
		default:
		}
		_, _ = io.Copy(io.Discard, log)
	}()
	select {
	case err := <-ready:
		return err
	case <-time.After(patience):
		return errors.New("the server isn't ready after " + patience.String())
	}
}

// findPrograms is the folder of the newest installed server's programs.
func findPrograms() (string, error) {
	if path, err := exec.LookPath("postgres"); err == nil {
		if _, err := os.Stat(filepath.Join(filepath.Dir(path), "initdb")); err == nil {
			return filepath.Dir(path), nil
		}
	}
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil || len(found) == 0 {
		return "", errors.Join(ErrMissing, err)
	}
	version := func(path string) int {
		n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path))))
		return n
	}
	newest := slices.MaxFunc(found, func(a, b string) int { return cmp.Compare(version(a), version(b)) })
	return filepath.Dir(newest), nil
}

// serverUser is whom the server runs as. PostgreSQL refuses root, so root gives
// the folder to the package's user or, without one, to the user nobody.
func serverUser(folder string) (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	account, err := user.Lookup("postgres")
	if err != nil {
		if account, err = user.Lookup("nobody"); err != nil {
			return nil, err
		}
	}
	uid, err := strconv.ParseUint(account.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(account.Gid, 10, 32)
	if err != nil {
		return nil, err
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, os.Chown(folder, int(uid), int(gid))
}

// environment is the server's: nothing of ours but the search path, and a
// language that the log is read in.
func environment() []string {
	return []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "TZ=UTC"}
}
