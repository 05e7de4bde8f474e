package pluginauthor

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"time"
)

// What is kept of a plugin that floods the trap.
const (
	maxTrapLine = 4096
	maxTrapped  = 1000
)

// proxyTrap stands in for the proxy of a plugin that shall do without a network,
// and notes who comes.
type proxyTrap struct {
	listener net.Listener
	serving  sync.WaitGroup

	mutex sync.Mutex
	came  []string
}

func newProxyTrap() (*proxyTrap, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for what a plugin should not do: %w", err)
	}
	t := &proxyTrap{listener: listener}
	t.serving.Go(t.serve)
	return t, nil
}

func (t *proxyTrap) serve() {
	for {
		conn, err := t.listener.Accept()
		if err != nil {
			return
		}
		_ = conn.SetDeadline(time.Now().Add(time.Second))
		line, _ := bufio.NewReader(io.LimitReader(conn, maxTrapLine)).ReadString('\n')
		target := "a proxy"
		if words := strings.Fields(line); len(words) > 1 {
			target = words[1] // CONNECT host:443, or GET http://…
		}
		t.mutex.Lock()
		if len(t.came) < maxTrapped {
			t.came = append(t.came, target)
		}
		t.mutex.Unlock()
		_, _ = conn.Write([]byte("HTTP/1.1 502 no network\r\n\r\n"))
		_ = conn.Close()
	}
}

func (t *proxyTrap) reached() []string {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return slices.Clone(t.came)
}

// environment is one whose every proxy is the trap.
func (t *proxyTrap) environment(lookup func(string) (string, bool)) func(string) (string, bool) {
	return func(name string) (string, bool) {
		switch strings.ToUpper(name) {
		case "HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY":
			return "http://" + t.listener.Addr().String(), true
		case "NO_PROXY":
			return "", false
		}
		return lookup(name)
	}
}

func (t *proxyTrap) close() {
	_ = t.listener.Close()
	t.serving.Wait()
}
