//go:build unix

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/plugins/aws/internal/ec2sim"
)

// served is the command as it runs, until the test ends.
func served(t *testing.T, args ...string) (base string) {
	t.Helper()
	ctx, end := context.WithCancel(context.WithoutCancel(t.Context()))
	out, said := io.Pipe()
	over := make(chan int, 1)
	go func() { over <- run(ctx, args, said, t.Output()); said.Close() }()
	t.Cleanup(func() {
		end()
		if code := <-over; code != 0 {
			t.Errorf("it ended with %d", code)
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(line)
}

// ask sends one action, signed as far as the account looks at a signature, and
// gives the status and the answer.
func ask(t *testing.T, base, action string, parameters ...string) (int, string) {
	t.Helper()
	form := url.Values{"Action": {action}, "Version": {"2016-11-15"}}
	for index := 0; index < len(parameters); index += 2 {
		form.Set(parameters[index], parameters[index+1])
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization",
		"AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20261130/us-east-1/ec2/aws4_request, SignedHeaders=host, Signature="+
			strings.Repeat("0", 64))
	request.Header.Set("X-Amz-Date", "20261130T060000Z")
	return send(t, request)
}

func send(t *testing.T, request *http.Request) (int, string) {
	t.Helper()
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(content)
}

// launch starts one machine with the user data "the document".
func launch(t *testing.T, base string) (int, string) {
	t.Helper()
	return ask(t, base, "RunInstances", "ImageId", "ami-0a000000000000001", "InstanceType", "c7i.large", "MinCount", "1",
		"MaxCount", "1",
		"UserData", "dGhlIGRvY3VtZW50", "InstanceInitiatedShutdownBehavior", "terminate")
}

func machines(t *testing.T, base string) []ec2sim.Machine {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+"/ec2sim/machines", nil)
	if err != nil {
		t.Fatal(err)
	}
	_, text := send(t, request)
	var all []ec2sim.Machine
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if strings.Contains(text, "document") {
		t.Fatalf("user data is shown:\n%s", text)
	}
	return all
}

func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for deadline := time.Now().Add(time.Minute); !condition(); <-ticker.C {
		if time.Now().After(deadline) {
			t.Fatalf("timed out waiting until %s", what)
		}
	}
}

// program writes a shell script that plays a machine.
func program(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "machine")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestMachineBootsWithUserDataAndStopsWithInstance(t *testing.T) {
	dir := t.TempDir()
	base := served(t, "-boot",
		program(t, `cat >`+dir+`/data; echo $$ >`+dir+`/$EC2SIM_INSTANCE; trap : TERM; while :; do sleep 1000; done`))
	if status, text := launch(t, base); status != http.StatusOK {
		t.Fatalf("%d\n%s", status, text)
	}
	id := machines(t, base)[0].ID
	var pid int
	eventually(t, "it has booted", func() bool {
		content, _ := os.ReadFile(filepath.Join(dir, id))
		pid, _ = strconv.Atoi(strings.TrimSpace(string(content)))
		return pid > 0
	})
	if content, err := os.ReadFile(filepath.Join(dir, "data")); err != nil || string(content) != "the document" {
		t.Fatalf("its user data is %q, %v", content, err)
	}
	if status, text := ask(t, base, "TerminateInstances", "InstanceId.1", id); status != http.StatusOK {
		t.Fatalf("%d\n%s", status, text)
	}
	eventually(t, "its process is gone, which TERM alone doesn't bring about", func() bool {
		return syscall.Kill(pid, 0) != nil
	})
}

// The document is as the region signed it, for any client with a token; the plugin's
// tests show that what the region signs is verified.
func TestAMachineLearnsWhoItIsByIMDSv2Alone(t *testing.T) {
	dir := t.TempDir()
	base := served(t, "-certificate", filepath.Join(dir, "certificate"), "-boot",
		program(t, `echo "$EC2SIM_METADATA" >`+dir+`/new; mv `+dir+`/new `+dir+`/url; while :; do sleep 1000; done`))
	if content, err := os.ReadFile(filepath.Join(dir, "certificate")); err != nil ||
		!strings.HasPrefix(string(content), "-----BEGIN CERTIFICATE-----") {
		t.Fatalf("the region's certificate is %q, %v", content, err)
	}
	if status, text := launch(t, base); status != http.StatusOK {
		t.Fatalf("%d\n%s", status, text)
	}
	var at string
	eventually(t, "it knows where to ask", func() bool {
		content, _ := os.ReadFile(filepath.Join(dir, "url"))
		at = strings.TrimSpace(string(content))
		return at != ""
	})
	get := func(method, path, header, value string) (int, string) {
		request, err := http.NewRequestWithContext(t.Context(), method, at+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set(header, value)
		return send(t, request)
	}
	const life, mark, document = "X-aws-ec2-metadata-token-ttl-seconds", "X-aws-ec2-metadata-token",
		"/latest/dynamic/instance-identity/document"
	for _, wrong := range []string{"", "0", "21601", "long"} {
		if status, _ := get(http.MethodPut, "/latest/api/token", life, wrong); status != http.StatusBadRequest {
			t.Errorf("a token for %q seconds is answered with %d", wrong, status)
		}
	}
	if status, _ := get(http.MethodGet, document, mark, "made-up"); status != http.StatusUnauthorized {
		t.Errorf("a token that was made up is answered with %d", status)
	}
	_, token := get(http.MethodPut, "/latest/api/token", life, "60")
	if status, text := get(http.MethodGet, document, mark, token); status != http.StatusOK ||
		!strings.Contains(text, machines(t, base)[0].ID) {
		t.Errorf("its document is %d\n%s", status, text)
	}
	if status, text := get(http.MethodGet, "/latest/dynamic/instance-identity/rsa2048", mark,
		token); status != http.StatusOK || !strings.HasPrefix(text, "MII") {
		t.Errorf("its signature is %d\n%s", status, text)
	}
	if status, _ := get(http.MethodGet, "/latest/meta-data/spot/instance-action", mark,
		token); status != http.StatusNotFound {
		t.Errorf("nothing was announced, and that is answered with %d", status)
	}
}

func TestAnInstanceEndsWithItsMachine(t *testing.T) {
	base := served(t, "-boot", program(t, "exit 3"))
	if status, text := launch(t, base); status != http.StatusOK {
		t.Fatalf("%d\n%s", status, text)
	}
	eventually(t, "the instance is terminated", func() bool { return machines(t, base)[0].State == "terminated" })
}

func TestRoomIsGivenAndTakenWhileItServes(t *testing.T) {
	base := served(t, "-capacity", "c7i.large,us-east-1a,on-demand=0")
	if status, text := launch(t, base); status == http.StatusOK ||
		!strings.Contains(text, "InsufficientInstanceCapacity") {
		t.Fatalf("there is no room, and the launch answers %d\n%s", status, text)
	}
	for _, c := range []struct {
		room   string
		status int
	}{{"c7i.large,us-east-1a,on-demand=-1", 400}, {"c7i.large=1", 400}, {"c7i.large,us-east-1a,on-demand=1", 200}} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPut, base+"/ec2sim/capacity/"+c.room, nil)
		if err != nil {
			t.Fatal(err)
		}
		if status, text := send(t, request); status != c.status {
			t.Errorf("%s answers %d, want %d\n%s", c.room, status, c.status, text)
		}
	}
	if status, text := launch(t, base); status != http.StatusOK {
		t.Fatalf("there is room, and the launch answers %d\n%s", status, text)
	}
}

func TestItListensOnLoopbackAlone(t *testing.T) {
	for _, args := range [][]string{{"-listen", "0.0.0.0:0"}, {"-listen", ":0"}, {"-listen", "192.0.2.1:80"},
		{"-capacity", "c7i.large=1"}, {"more"}} {
		if code := run(t.Context(), args, io.Discard, io.Discard); code != 2 {
			t.Errorf("%v ends with %d", args, code)
		}
	}
}
