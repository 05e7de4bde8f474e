//go:build unix

package pluginhost

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"io"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/providerpb"
)

// The ways in which the test plugin misbehaves before it serves.

// misbehave does what the mode says before the handshake; false: there will be none.
func misbehave(mode string) bool {
	switch mode {
	case "closed stderr":
		syscall.Close(2)
	case "closed stdout":
		syscall.Close(1)
		io.Copy(io.Discard, os.Stdin)
		return false
	case "long handshake":
		fmt.Println("1|1|unix|/nowhere|grpc|" + strings.Repeat("x", 10<<20))
		io.Copy(io.Discard, os.Stdin)
		return false
	case "flood of log lines":
		line := []byte(`{"@level":"info","@message":"` + strings.Repeat("f", 1000) + `"}` + "\n")
		for range 20_000 {
			os.Stderr.Write(line)
		}
		fmt.Fprintln(os.Stderr, "the last word")
	case "noise without end":
		for {
			fmt.Println("library v1 is loading")
		}
	}
	return true
}

// handshakes are what becomes of the plugin's own handshake line.
var handshakes = map[string]func(line []string) string{
	"trickled handshake":         whole,
	"another's certificate":      func(line []string) string { line[5] = strangersCertificate(); return whole(line) },
	"certificate that is none":   func(line []string) string { line[5] = strings.Repeat("QUJD", 100); return whole(line) },
	"certificate of no encoding": func(line []string) string { line[5] = strings.Repeat("!", 100); return whole(line) },
	"no certificate":             func(line []string) string { line[5] = ""; return whole(line) },
	"another network": func(line []string) string {
		line[2], line[3] = "tcp", "127.0.0.1:1"
		return whole(line)
	},
	"a socket that isn't there": func(line []string) string { line[3] += "0"; return whole(line) },
	"an abstract socket":        func(line []string) string { line[3] = "@forgeyard"; return whole(line) },
	"a file for a socket": func(line []string) string {
		line[3] = filepath.Join(filepath.Dir(line[3]), "file")
		os.WriteFile(line[3], nil, 0o600)
		return whole(line)
	},
	"a symbolic link to its socket": func(line []string) string {
		link := filepath.Join(filepath.Dir(line[3]), "link")
		os.Symlink(line[3], link)
		line[3] = link
		return whole(line)
	},
	"a socket behind a linked directory": func(line []string) string {
		away := filepath.Join(filepath.Dir(line[3]), "..", "..", "..", "away") // beside the run directory
		os.Mkdir(away, 0o700)
		os.Rename(line[3], filepath.Join(away, "socket"))
		link := filepath.Join(filepath.Dir(line[3]), "away")
		os.Symlink(filepath.Clean(away), link)
		line[3] = filepath.Join(link, "socket")
		return whole(line)
	},
}

func whole(line []string) string { return strings.Join(line, "|") }

// rewritten is a standard output for go-plugin's server: its line is passed on
// changed, and one byte at a time.
func rewritten(stdout *os.File, change func(line []string) string) *os.File {
	read, write, err := os.Pipe()
	if err != nil {
		panic(err)
	}
	go func() {
		line, err := bufio.NewReader(read).ReadString('\n')
		if err != nil {
			return
		}
		for _, b := range []byte(change(strings.Split(strings.TrimSpace(line), "|")) + "\n") {
			stdout.Write([]byte{b})
		}
	}()
	return write
}

// strangersCertificate is a good one, of a key that the server doesn't have.
func strangersCertificate() string {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		DNSNames:              []string{"localhost"},
		NotAfter:              time.Now().Add(time.Hour),
		IsCA:                  true,
		BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		panic(err)
	}
	return base64.RawStdEncoding.EncodeToString(der)
}

// runaway starts a child that leaves the group and keeps all that it inherited
// open: the output streams and the launch lock.
func (p *testPlugin) runaway() (*providerpb.ConfigureResponse, error) {
	child := exec.Command("sleep", "1000")
	child.Stdout, child.Stderr = p.stdout, standardError
	child.ExtraFiles = []*os.File{os.NewFile(providerpb.LaunchLockFD, "lock")}
	child.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := child.Start(); err != nil {
		return nil, err
	}
	return &providerpb.ConfigureResponse{Account: strconv.Itoa(child.Process.Pid)}, nil
}

// streamsAndGroup says what standard input is and whose group the plugin is in.
func streamsAndGroup() string {
	var stat syscall.Stat_t
	if err := syscall.Fstat(0, &stat); err != nil {
		return err.Error()
	}
	return fmt.Sprintf(
		"pipe %v, leads its group %v",
		stat.Mode&syscall.S_IFMT == syscall.S_IFIFO,
		syscall.Getpgrp() == os.Getpid(),
	)
}

// floodPages are the pages of an inspection that is out of all proportion.
var floodPages = map[string]func() *providerpb.InspectResponse{
	"many": func() *providerpb.InspectResponse {
		page := &providerpb.InspectResponse{}
		for n := range manyResources {
			page.Resources = append(page.Resources, &providerpb.Resource{Id: fmt.Sprint("i-", n), Key: fmt.Sprint("k-", n)})
		}
		return page
	},
	"large":             func() *providerpb.InspectResponse { return largePage(5 << 20) },
	"too large":         func() *providerpb.InspectResponse { return largePage(providerpb.MaxMessageBytes) },
	"without end":       func() *providerpb.InspectResponse { return largePage(8 << 20) },
	"empty without end": func() *providerpb.InspectResponse { return &providerpb.InspectResponse{} },
}

const manyResources = 100_000

func largePage(size int) *providerpb.InspectResponse {
	return &providerpb.InspectResponse{
		Resources: []*providerpb.Resource{{Id: "i", Key: "k", Tags: map[string]string{"large": strings.Repeat("x", size)}}},
	}
}
