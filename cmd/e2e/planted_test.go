//go:build linux

package e2e

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// plantation is a workspace with secrets of all kinds, and everything that it
// said.
type plantation struct {
	*workspace
	planted
	definition

	mutex sync.Mutex
	said  map[string]string // by what said it
}

// vault is the one folder where secrets may be: the files that references lead
// to, and what the plugin wrote down of what it got.
func (p *plantation) vault(name string) string { return p.path(filepath.Join("vault", name)) }

// newPlantation plants a secret for each way in which one comes in. Their other
// parts are what has to be escaped in JSON, URLs, HTML and shells.
func newPlantation(t *testing.T) *plantation {
	t.Helper()
	p := &plantation{
		workspace:  newWorkspace(t),
		definition: definition{min: 1, max: 1, command: "exec sleep 60"},
		said:       map[string]string{},
	}
	if err := os.Mkdir(p.vault(""), 0o700); err != nil {
		t.Fatal(err)
	}
	secret := func(what string) string { return "s+/\"<&> \\" + p.core(what) + "=é" }
	write := func(name, text string) {
		if err := os.WriteFile(p.vault(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(
		"key.pem",
		"-----BEGIN KEY-----\n"+secret(
			"the provider's file, first line",
		)+"\n"+secret(
			"the provider's file, last line",
		)+"\n-----END KEY-----\n",
	)
	write("metrics", secret("the scheduler's file")+"\n")
	write("variables.hcl", fmt.Sprintf("from_file = %q\n", p.core("the variable in a file")))
	p.environ = append(
		p.environ,
		"PLANTED_TOKEN="+secret("the provider's variable"),
		"PLANTED_SCHEDULER="+secret("the scheduler's variable"),
		"FLEET_VAR_from_environment="+secret("the variable in the environment"),
	)
	return p
}

// plant writes the fleet file. The fleet of the plugin that leaks has n
// instances.
func (p *plantation) plant(n int, token string) {
	p.t.Helper()
	text := strings.Replace(p.String(), `env = [] }`, `env = [] }
    leak = { version = "~> 0.1" }`, 1)
	leaking := strings.NewReplacer(`fleet "demo"`, `fleet "leaking"`, "provider.local.here", "provider.leak.all").
		Replace(text[strings.Index(text, `fleet "demo"`):])
	leaking = strings.NewReplacer("min = 1", "min = "+itoa(n), "max = 1", "max = "+itoa(max(n, 1)), "scaling {",
		"scaling {\n    scale_to_zero = "+fmt.Sprint(n == 0)).
		Replace(leaking)
	p.write(text + "\n" + leaking + fmt.Sprintf(`
variable "from_flag" {
  sensitive = true
  default   = ""
}

variable "from_file" {
  sensitive = true
  default   = ""
}

variable "from_environment" {
  sensitive = true
}

locals {
  used = "${var.from_flag}${var.from_file}${var.from_environment}"
}

scheduler "reviewos" "main" {
  url           = "http://127.0.0.1:1"
  token         = secret("env:PLANTED_SCHEDULER")
  metrics_token = secret("file:%s")
}

provider "leak" "all" {
  folder = %q
  token  = %s
  key    = secret("file:%s")
}
`, p.vault("metrics"), p.vault(""), token, p.vault("key.pem")))
}

const fromEnvironment = `secret("env:PLANTED_TOKEN")`

// hears takes in what somebody said, to be looked through.
func (p *plantation) hears(who, text string) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.said[who] += text
}

// runs runs a command and takes in what it says.
func (p *plantation) runs(w *workspace, code int, args ...string) string {
	p.t.Helper()
	r := w.fleet(code, append(args, "--log-level", "debug")...)
	p.hears(strings.Join(args, " "), r.out+r.err)
	return r.out + r.err
}

// goesWrong waits until the plugin misbehaved so often that the manager has long
// heard of the first time. Its death is heard of anyway.
func (p *plantation) goesWrong(mode string) {
	p.t.Helper()
	times := 2
	if mode == "crash" {
		times = 1
	}
	eventually(p.t, "see the plugin go wrong with "+mode, func() bool { return p.leaked(mode) >= times })
}

func (p *plantation) setMode(mode string) {
	p.t.Helper()
	if err := os.WriteFile(p.vault("mode"), []byte(mode), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// leaked is how often the plugin showed its secrets for a reason.
func (p *plantation) leaked(mark string) int {
	content, _ := os.ReadFile(p.vault("leaked")) // none: never
	return strings.Count("\n"+string(content), "\n"+mark+"\n")
}

// The proof of what docs/security.md says: secrets of every kind, a plugin that
// shows those it was given wherever it can, everything that people do, and then
// every byte that is left or was said.
func TestAPlantedSecretIsFoundNowhere(t *testing.T) {
	t.Parallel()
	if err := build("..", "./e2e/internal/leak", filepath.Join(bin, "forgeyard-plugin-leak")); err != nil {
		t.Fatal(err)
	}
	p := newPlantation(t)
	p.hears("init", p.fleet(0, "init").out)
	p.plant(0, fromEnvironment)
	// One of the two isn't a release of the publisher.
	p.fleet(0, "plugin", "install", "--dev", p.bin)
	variables := []string{"--var", "from_flag=" + p.core("the variable in a flag"), "--var-file", p.vault("variables.hcl")}
	with := func(args ...string) []string { return append(args, variables...) }

	p.runs(p.workspace, 0, with("validate")...)
	p.runs(p.workspace, 0, with("validate", "--plugins")...)
	p.runs(p.workspace, 0, with("plan")...)
	p.runs(p.workspace, 0, with("plan", "--json")...)
	p.runs(p.workspace, 0, with("apply", "--auto-approve")...)
	p.gotThem()

	daemon := p.start("serve", "--api-listen", "127.0.0.1:0", "--log-level", "debug")
	daemon.mustSay("Serving")
	far, url := p.remote(daemon, "fleet.manage,fleet.read")
	token := strings.TrimPrefix(far.environ[len(far.environ)-1], "FLEET_TOKEN=")
	p.cores["the API token"] = token[len(token)-26:]
	events := p.listens(url, token)

	p.plant(1, fromEnvironment)
	p.runs(far, 0, with("plan", "--json", "--server", url)...)
	p.runs(far, 3, with("apply", "--auto-approve", "--wait", "2s", "--server", url)...)
	p.looksAtProcesses()
	p.reads(url, token)
	for _, args := range [][]string{{"status"}, {"status", "--json"}, {"list"}, {"instance", "list", "--json"},
		{"token", "list"}} {
		p.runs(p.workspace, 0, args...)
	}
	// An inspection that a crash cuts off fails in the class of "inspect", and a
	// failure of the same class isn't told again: "inspect" comes first.
	for n, mode := range []string{"provision", "panic", "inspect", "crash", "identity"} {
		p.setMode(mode)
		p.plant(2+n, fromEnvironment)
		p.runs(p.workspace, 3, with("apply", "--auto-approve", "--wait", "50ms")...)
		p.goesWrong(mode)
		p.runs(p.workspace, 0, "status", "--json")
		p.reads(url, token)
		p.setMode("")
	}
	p.isRefused(with)
	p.setMode("configure")
	// A changed block restarts the plugin, however often it died before.
	p.write(
		strings.Replace(p.read("fleet/fleet.hcl"), fmt.Sprintf("key    = secret(\"file:%s\")", p.vault("key.pem")), "", 1),
	)
	p.runs(p.workspace, 3, with("apply", "--auto-approve", "--wait", "50ms")...)
	eventually(t, "see the plugin refuse its block", func() bool { return p.leaked("configure") >= 1 })
	eventually(t, "see the provider held", func() bool {
		return strings.Contains(p.runs(p.workspace, 0, "status"), "mark-configure")
	})
	p.reads(url, token)

	p.plantTokens()
	r := daemon.kill() // so that the store's journal is there to be looked through
	events()
	p.hears("serve", r.out+r.err)
	p.looksEverywhere()
	p.wasTold()
}

// isRefused makes the mistakes that people make with secrets.
func (p *plantation) isRefused(with func(...string) []string) {
	p.t.Helper()
	for _, one := range []struct {
		what, token string
		says        []string
	}{
		{"a missing variable", `secret("env:NOT_SET")`, []string{"fleet.hcl:", `secret("env:NOT_SET")`, "token"}},
		{"a missing file", `secret("file:/nowhere/token")`,
			[]string{"fleet.hcl:", `secret("file:/nowhere/token")`, "no such file"}},
		{"a literal", fmt.Sprintf("%q", p.core("a literal in the fleet file")),
			[]string{"fleet.hcl:", `"token" is a secret`, `secret("env:NAME")`, `secret("file:/path")`}},
		{"a variable", "var.from_flag", []string{"fleet.hcl:", `"token" is a secret`, `secret("env:NAME")`}},
	} {
		p.plant(1, one.token)
		for _, command := range []string{"plan", "apply"} {
			text := p.runs(p.workspace, 1, with(command)...)
			for _, want := range one.says {
				if !strings.Contains(text, want) {
					p.t.Errorf("%s of %s lacks %q:\n%s", command, one.what, want, text)
				}
			}
		}
	}
	p.plant(1, fromEnvironment)
	p.write(strings.Replace(p.read("fleet/fleet.hcl"), "var.root", "var.from_environment", 1))
	if text := p.runs(p.workspace, 1, with("plan")...); !strings.Contains(text, "A sensitive value can't stand here") {
		p.t.Errorf("a sensitive variable in a provider's body: %s", text)
	}
	p.plant(1, fromEnvironment)
	p.write(strings.Replace(p.read("fleet/fleet.hcl"), "PLANTED_SCHEDULER", "NOT_SET_EITHER", 1))
	if text := p.runs(
		p.workspace,
		1,
		with("plan")...); !strings.Contains(text, `secret("env:NOT_SET_EITHER")`) ||
		!strings.Contains(text, "scheduler") {
		p.t.Errorf("a scheduler's missing secret: %s", text)
	}
	p.plant(1, fromEnvironment)
	p.setMode("refuse")
	if text := p.runs(
		p.workspace,
		1,
		with("plan")...); !strings.Contains(text, "mark-refuse (hidden)") ||
		!strings.Contains(text, "fleet.hcl:") {
		p.t.Errorf("a secret that the plugin refuses: %s", text)
	}
	p.setMode("")
}

// gotThem is the control that the plugin really was given the secrets: without it,
// nothing would prove that they could have been shown.
func (p *plantation) gotThem() {
	p.t.Helper()
	content, err := os.ReadFile(p.vault("received"))
	if err != nil {
		p.t.Fatal(err)
	}
	found := p.in(content)
	want := []string{"the provider's file, first line", "the provider's file, last line", "the provider's variable"}
	if !slices.Equal(found, want) {
		p.t.Fatalf("the plugin got %q, want %q", found, want)
	}
}

// plantTokens makes the enrollment tokens of all hosts known, of those with an
// agent and of those that the leaking plugin made.
func (p *plantation) plantTokens() {
	p.t.Helper()
	received := p.read("vault/received")
	n := 0
	for line := range strings.Lines(received) {
		if token := strings.TrimSpace(line); strings.HasPrefix(token, "fyt1.") {
			n++
			p.cores["enrollment token "+itoa(n)] = token[len(token)-52:]
		}
	}
	if n == 0 {
		p.t.Fatal("the leaking plugin got no enrollment token")
	}
	for _, key := range p.keys() {
		var document struct {
			Token string `json:"token"`
		}
		if err := json.Unmarshal(
			[]byte(p.read(filepath.Join("hosts", key, "bootstrap.json"))),
			&document,
		); err != nil ||
			len(document.Token) < 60 {
			p.t.Fatalf("the bootstrap document of %s: %v", key, err)
		}
		p.cores["enrollment token of "+key] = document.Token[len(document.Token)-52:]
	}
}

// looksAtProcesses looks at all living processes. The manager's own environment
// is where its user put the secrets, and the control that they are found.
func (p *plantation) looksAtProcesses() {
	p.t.Helper()
	eventually(p.t, "see a job", func() bool { return len(p.pids("sleep")) > 0 })
	found, programs := p.inProcesses(p.workspace)
	if programs["plugin"] < 2 || programs["agent"] == 0 || programs["sleep"] == 0 || programs["forgeyard-fleet"] == 0 {
		p.t.Fatalf("too few processes were looked at: %v", programs)
	}
	if !slices.Contains(found["forgeyard-fleet"], "the provider's variable") {
		p.t.Errorf("the search doesn't find a secret where its user put it: %v", found)
	}
	delete(found, "forgeyard-fleet")
	for program, secrets := range found {
		if len(secrets) > 0 {
			p.t.Errorf("the process %s shows %q", program, secrets)
		}
	}
}

// looksEverywhere looks through all files and all that was said.
func (p *plantation) looksEverywhere() {
	p.t.Helper()
	vault := p.path("vault") + string(filepath.Separator)
	everywhere, _ := p.inFiles(p.workspace, func(string) bool { return false })
	for path, want := range map[string]string{"key.pem": "the provider's file, last line",
		"metrics": "the scheduler's file", "received": "enrollment token 1", "variables.hcl": "the variable in a file"} {
		if !slices.Contains(everywhere[p.vault(path)], want) {
			p.t.Errorf("the search doesn't find %s where it was put: %q", want, everywhere[p.vault(path)])
		}
	}
	for path, secrets := range everywhere {
		if strings.HasPrefix(path, vault) {
			continue
		}
		if filepath.Base(path) == "bootstrap.json" { // where a host's own token has to be
			secrets = slices.DeleteFunc(
				secrets,
				func(what string) bool { return what == "enrollment token of "+filepath.Base(filepath.Dir(path)) },
			)
		}
		if len(secrets) > 0 {
			p.t.Errorf("the file %s holds %q", path, secrets)
		}
	}
	if _, files := p.inFiles(
		p.workspace,
		func(path string) bool { return strings.HasPrefix(path, vault) },
	); files < 20 ||
		!exists(filepath.Join(p.state, "fleet.db-wal")) {
		p.t.Errorf("%d files were looked through, without the store's journal", files)
	}
	for _, who := range slices.Sorted(maps.Keys(p.said)) {
		if secrets := p.in([]byte(p.said[who])); len(secrets) > 0 {
			p.t.Errorf("%s says %q", who, secrets)
		}
	}
}

// wasTold is the control that the words of the leaking plugin did come through,
// with the secrets hidden: otherwise they were only not listened to.
func (p *plantation) wasTold() {
	p.t.Helper()
	for _, want := range []string{
		"mark-log (hidden)", "mark-provision (hidden)", "mark-crash (hidden)", "mark-inspect (hidden)",
		"mark-configure (hidden)",
		"panic in the plugin", // of what was thrown, the plugin's side tells the type alone
		"puts a secret that it was given into the id of a resource",
	} {
		if !strings.Contains(p.said["serve"], want) {
			p.t.Errorf("serve never says %q", want)
		}
	}
	for who, text := range p.said {
		if strings.HasPrefix(who, "plan --var") && !strings.Contains(text, "mark-validate (hidden)") &&
			!strings.Contains(text, "Error") {
			p.t.Errorf("%s tells nothing of the plugin's warning:\n%s", who, text)
		}
	}
	if !strings.Contains(p.read("state/fleet.db")+p.read("state/fleet.db-wal"), "(hidden)") {
		p.t.Error("the store holds nothing of what the plugin said of its resources")
	}
}

// client is for the manager's HTTPS answers as they are.
var client = &http.Client{
	Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}},
} // on this machine

// get asks for one path. What comes is handed on as it comes.
func (p *plantation) get(ctx context.Context, url, token, path string, to io.Writer) int {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url+path, nil)
	if err != nil {
		p.t.Error(err)
		return 0
	}
	request.Header.Set("Authorization", "Bearer "+token)
	response, err := client.Do(request)
	if err != nil {
		return 0
	}
	defer response.Body.Close()
	_, _ = io.Copy(to, response.Body) // cut off where the daemon ends
	return response.StatusCode
}

// reads reads everything that can be read over HTTP.
func (p *plantation) reads(url, token string) {
	p.t.Helper()
	page, err := os.ReadFile("../../docs/openapi.json")
	if err != nil {
		p.t.Fatal(err)
	}
	var api struct {
		Paths map[string]map[string]json.RawMessage `json:"paths"`
	}
	if err := json.Unmarshal(page, &api); err != nil {
		p.t.Fatal(err)
	}
	ids := []string{"fleet.demo", "fleet.leaking"}
	for _, one := range p.instances() {
		ids = append(ids, one.ID)
	}
	for path, methods := range api.Paths {
		if _, reads := methods["get"]; !reads || path == "/v1/events" {
			continue
		}
		answered := false
		for _, id := range ids {
			var text strings.Builder
			answered = p.get(p.t.Context(), url, token, strings.ReplaceAll(path, "{id}", id), &text) == http.StatusOK || answered
			p.hears("GET "+path, text.String())
		}
		if !answered {
			p.t.Errorf("GET %s answers for none of %v", path, ids)
		}
	}
}

// listens follows the events until the daemon ends, which the result waits for.
func (p *plantation) listens(url, token string) (heard func()) {
	var text strings.Builder
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		p.get(context.Background(), url, token, "/v1/events", &text)
	}()
	return func() {
		<-ended
		if text.Len() == 0 {
			p.t.Error("there were no events")
		}
		p.hears("GET /v1/events", text.String())
	}
}
