//go:build unix

package executor_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/agentapi"
)

// agentsProcess names the file that makes this test binary the agents of a manager.
const agentsProcess = "FORGEYARD_TEST_AGENTS"

func TestMain(m *testing.M) {
	if file := os.Getenv(agentsProcess); file != "" {
		if err := beAgents(file); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// agentsOrder is what the process of the agents is told.
type agentsOrder struct {
	URL          string
	Key          []byte // of all, as PKCS #8
	Certificates []string
	Every        time.Duration
	// Reconnect makes each beat a connection of its own.
	Reconnect bool
}

// beatEvery is what a manager of 2,000 agents asks for.
const beatEvery = 10 * time.Second

// BenchmarkAgents is what 2,000 agents cost a manager that has nothing else to do:
// "cores" is the share of one core that its whole process takes, with loop and store,
// while they beat every 10 s with client certificates over TLS. They are a process of
// their own. Goal: under a third of a core.
func BenchmarkAgents(b *testing.B) {
	for name, reconnect := range map[string]bool{"on connections that stay": false, "on a new connection each": true} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				b.ReportMetric(coresFor(b, 2000, reconnect), "cores")
			}
		})
	}
}

func coresFor(b *testing.B, size int, reconnect bool) float64 {
	c := &crowd{size: size, handOver: true}
	begin := gather(b, c, size)
	begin()
	<-c.healthy
	c.provider.Wait()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- c.agents.Serve(listener) }()
	b.Cleanup(func() {
		_ = c.agents.Close(context.Background())
		<-served
	})
	key, err := x509.MarshalPKCS8PrivateKey(c.key)
	if err != nil {
		b.Fatal(err)
	}
	agents, end := startAgents(b, agentsOrder{
		URL: "https://" + listener.Addr().
			String() +
			agentapi.HeartbeatPath,
		Key:          key,
		Certificates: c.certificates,
		Every:        beatEvery,
		Reconnect:    reconnect,
	})
	line, err := agents.ReadString('\n')
	if err != nil {
		b.Fatalf("the agents said %q: %v", line, err)
	}
	used, begun := processorTime(b), time.Now()
	<-time.After(2 * beatEvery)
	used, took := processorTime(b)-used, time.Since(begun)
	var beats, failed int
	if _, err := fmt.Sscan(end(), &beats, &failed); err != nil || failed > 0 || beats < 2*size {
		b.Fatalf("%d beats, %d failed: %v", beats, failed, err)
	}
	return used.Seconds() / took.Seconds()
}

// startAgents starts the process of the agents, which says a line once each has
// beaten, and at its end how many beats there were and how many failed.
func startAgents(b *testing.B, order agentsOrder) (said *bufio.Reader, end func() string) {
	file := filepath.Join(b.TempDir(), "agents.json")
	content, err := json.Marshal(order)
	if err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(file, content, 0o600); err != nil {
		b.Fatal(err)
	}
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), agentsProcess+"="+file)
	command.Stderr = os.Stderr
	stdin, err := command.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	stdout, err := command.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := command.Start(); err != nil {
		b.Fatal(err)
	}
	said = bufio.NewReader(stdout)
	once := sync.OnceValue(func() string {
		_ = stdin.Close()
		rest, _ := io.ReadAll(said)
		if err := command.Wait(); err != nil {
			b.Errorf("the agents: %v", err)
		}
		return string(rest)
	})
	b.Cleanup(func() { once() })
	return said, once
}

// processorTime is what this process has used.
func processorTime(b *testing.B) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// beAgents beats for all certificates until standard input ends.
func beAgents(file string) error {
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var order agentsOrder
	if err := json.Unmarshal(content, &order); err != nil {
		return err
	}
	key := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: order.Key})
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		defer cancel()
		_, _ = io.Copy(io.Discard, os.Stdin)
	}()
	var beats, failed atomic.Int64
	var first, all sync.WaitGroup
	for n, certificate := range order.Certificates {
		pair, err := tls.X509KeyPair([]byte(certificate), key)
		if err != nil {
			return err
		}
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: order.Reconnect, TLSClientConfig: &tls.Config{
			InsecureSkipVerify: true, // what the agents check isn't the manager's work
			Certificates:       []tls.Certificate{pair},
		}}}
		first.Add(1)
		all.Go(func() {
			told := sync.OnceFunc(first.Done)
			beat := idleBeat()
			pause(ctx, order.Every*time.Duration(n)/time.Duration(len(order.Certificates)))
			// Of connections that come all at once a busy manager drops some, and their
			// agents come again.
			for ctx.Err() == nil && beatOnce(client, order.URL, &beat) != nil {
				pause(ctx, time.Second)
			}
			for ctx.Err() == nil {
				if err := beatOnce(client, order.URL, &beat); err != nil && failed.Add(1) == 1 {
					fmt.Fprintln(os.Stderr, err)
				}
				beats.Add(1)
				told()
				pause(ctx, order.Every)
			}
			told()
		})
	}
	first.Wait()
	fmt.Println("each has beaten")
	all.Wait()
	_, err = fmt.Println(beats.Load(), failed.Load())
	return err
}

func beatOnce(client *http.Client, url string, beat *agentapi.Heartbeat) error {
	beat.Clock = time.Now()
	content, err := json.Marshal(beat)
	if err != nil {
		return err
	}
	response, err := client.Post(url, "application/json", bytes.NewReader(content))
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		return fmt.Errorf("%d: %s: %v", response.StatusCode, body, err)
	}
	var answer agentapi.HeartbeatResponse
	if err := json.Unmarshal(body, &answer); err != nil {
		return err
	}
	beat.Heard, beat.Order = answer.Directive.Want, answer.Directive.Order
	return nil
}
