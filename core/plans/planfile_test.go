package plans

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/forgeyard/forgeyard-fleet/core/access"
	"github.com/forgeyard/forgeyard-fleet/core/config"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/planner"
	"github.com/forgeyard/forgeyard-fleet/core/pluginstore"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
	"github.com/forgeyard/forgeyard-fleet/core/testonly/workspacetest"
)

// submitted are the files of an installation without fleets, which need no plugin.
func submitted() Submission {
	return Submission{
		Sources: []config.Source{{Name: "fleet.hcl", Bytes: []byte(`forgeyard {
  installation = "demo"
  manager {
    advertise = "https://${var.host}"
  }
}

variable "host" {
  type = string
}

variable "key" {
  type      = string
  sensitive = true
}
`)}},
		Lock:      string(pluginstore.Lock{}.Bytes()),
		Variables: config.Variables{Assignments: []string{"host=fleet.example", "key=PLANTED"}},
	}
}

func savedFrom(t testing.TB, m *installation, s Submission) SavedPlan {
	t.Helper()
	ctx := access.WithCaller(t.Context(), access.LocalUser("ada"))
	p, err := m.Plan(ctx, s)
	if err != nil {
		t.Fatal(err)
	}
	saved, err := p.Save(ctx, s, m.options)
	if err != nil {
		t.Fatal(err)
	}
	return saved
}

func TestAPlanFileComesBackWholeAndHoldsNothingSensitive(t *testing.T) {
	m := open(t, workspacetest.Options(t))
	defer m.Close()
	saved := savedFrom(t, m, submitted())
	path := filepath.Join(t.TempDir(), "plan")
	for range 2 { // the second time over the first
		if err := WriteFile(path, saved); err != nil {
			t.Fatal(err)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("its mode is %v, %v", info.Mode(), err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(content, []byte("PLANTED")) {
		t.Error("the file holds the value of a sensitive variable")
	}
	got, err := ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(saved, got, cmpopts.IgnoreUnexported(Plan{}), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("(-saved +read):\n%s", diff)
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 1 {
		t.Errorf("beside the plan there is more: %v, %v", entries, err)
	}
}

func TestNothingButAPlanFileIsOverwritten(t *testing.T) {
	m := open(t, workspacetest.Options(t))
	defer m.Close()
	saved := savedFrom(t, m, submitted())
	dir := t.TempDir()
	file, link := filepath.Join(dir, "fleet.hcl"), filepath.Join(dir, "link")
	if err := os.WriteFile(file, []byte("forgeyard {}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{file, link, dir} {
		if err := WriteFile(
			path,
			saved,
		); err == nil ||
			!strings.Contains(err.Error(), "is not a plan file; nothing was written") {
			t.Errorf("%s: %v", path, err)
		}
	}
	if content, err := os.ReadFile(file); err != nil || string(content) != "forgeyard {}\n" {
		t.Errorf("the file is now %q, %v", content, err)
	}
}

func TestADamagedPlanFileIsOneClearError(t *testing.T) {
	m := open(t, workspacetest.Options(t))
	defer m.Close()
	saved := savedFrom(t, m, submitted())
	content, err := saved.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	head, body, _ := bytes.Cut(content, []byte("\n"))
	forged := saved
	forged.Plan.Changes = nil // shows nothing, and would change something
	lie, err := forged.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	flipped := bytes.Clone(content)
	flipped[len(flipped)/2] ^= 1
	for name, test := range map[string]struct {
		content []byte
		want    string
	}{
		"nothing":               {nil, "not a plan file"},
		"a fleet file":          {[]byte("forgeyard {\n}\n"), "not a plan file"},
		"binary":                {[]byte("PK\x03\x04"), "not a plan file"},
		"half of it":            {content[:len(content)/2], "damaged or cut off"},
		"all but the last byte": {content[:len(content)-1], "damaged or cut off"},
		"a byte more":           {append(bytes.Clone(content), '\n'), "damaged or cut off"},
		"another bit":           {flipped, "damaged or cut off"},
		"the first line":        {head, "damaged or cut off"},
		"another format": {append([]byte(planFileMark+"9 sha256:00\n"), body...),
			"plan format 9, and this version reads 1"},
		"no format":                       {append([]byte(planFileMark+"x y\n"), body...), "damaged or cut off"},
		"sealed, and nothing":             {sealPlan([]byte("null")), "damaged or cut off"},
		"sealed, and no JSON":             {sealPlan([]byte("{")), "damaged or cut off"},
		"shows something else than it is": {lie, "damaged or cut off"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "plan")
			if err := os.WriteFile(path, test.content, 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := ReadFile(path)
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), path) ||
				strings.Contains(err.Error(), "\n") {
				t.Errorf("%v", err)
			}
		})
	}
}

// A plan file that somebody changed and sealed again could erase the lines above
// it on the terminal of the person who approves it.
func TestAPlanThatSteersTheTerminalIsRefusedAndNotPrinted(t *testing.T) {
	m := open(t, workspacetest.Options(t))
	defer m.Close()
	for name, tamper := range map[string]func(*SavedPlan, string){
		"a sentence of the forecast": func(p *SavedPlan, evil string) {
			p.Plan.Preview.Fleets = []planner.FleetPlan{{Waiting: []reason.Reason{reason.Plain(evil)}}}
		},
		"the key of a map": func(p *SavedPlan, evil string) {
			p.Plan.Approval.Fleets = map[fleet.FleetAddress]int64{fleet.FleetAddress(evil): 1}
		},
		"the person who saved it": func(p *SavedPlan, evil string) { p.Plan.Approval.Saved.By = evil },
		"the program":             func(p *SavedPlan, evil string) { p.Program = evil },
		"the installation":        func(p *SavedPlan, evil string) { p.Plan.Installation = evil },
		"a resource": func(p *SavedPlan, evil string) {
			p.Plan.Unrecorded = []fleet.UnrecordedResource{{Reason: reason.Plain(evil)}}
		},
		"a warning":              func(p *SavedPlan, evil string) { p.Plan.Warnings = config.Diagnostics{{Summary: evil}} },
		"a variable's name":      func(p *SavedPlan, evil string) { p.Sensitive.Needed = []string{evil} },
		"the name of a file":     func(p *SavedPlan, evil string) { p.Submission.Sources[0].Name = evil },
		"a variable that is set": func(p *SavedPlan, evil string) { p.Submission.Variables.Assignments = []string{evil} },
	} {
		for _, evil := range []string{"\x1b[5A\x1b[J", "a\rb", "\x7f", "\u009b2J", "\x00", "\b"} {
			p := savedFrom(t, m, submitted())
			tamper(&p, evil)
			if _, err := p.Bytes(); err == nil {
				t.Errorf("%s with %q is written", name, evil)
			}
			body, err := json.Marshal(p)
			if err != nil {
				t.Fatal(err)
			}
			_, err = Parse(sealPlan(body))
			if err == nil || !strings.Contains(err.Error(), "terminal control characters") ||
				strings.ContainsFunc(err.Error(), unicode.IsControl) {
				t.Errorf("%s with %q: %v", name, evil, err)
			}
		}
	}
}

func TestAPlanMayHaveLinesTabsAndAnyFile(t *testing.T) {
	m := open(t, workspacetest.Options(t))
	defer m.Close()
	s := submitted()
	s.Sources[0].Bytes = append(s.Sources[0].Bytes, "# \x1b[1mloud\r\n"...)
	p := savedFrom(t, m, s)
	p.Plan.Warnings = config.Diagnostics{{Summary: "odd", Detail: "two\n\tlines", Snippet: config.Snippet{Before: "\x1b"}}}
	content, err := p.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Parse(content); err != nil {
		t.Error(err)
	}
}

// FuzzParsePlan looks for a file that makes the parser panic, or that it takes
// and can't write again. Each text is tried as it is and with a seal that fits.
func FuzzParsePlan(f *testing.F) {
	f.Add([]byte(nil))
	f.Add([]byte("null"))
	f.Add([]byte(planFileMark + "1 sha256:00\n{}"))
	f.Add(
		[]byte(
			`{"plan":{"installation":"demo","approval":{"format":1,"saved":{"id":"x"}}},"submission":{"sources":[{"name":"a"}]}}`,
		),
	)
	f.Add(
		[]byte(
			`{"program":"0.1.0","plan":{"installation":"demo","changes":[],"approval":{"format":1,"saved":{"id":"x","changes":"` + changesDigest(
				nil,
			) +
				`"}},"preview":{"fleets":[{"address":"fleet.a"}]}},"submission":{"sources":[{"name":"a","bytes":"YQ=="}],"variables":{"assignments":["a=b"]}},"sensitive":{"needed":["k"]}}`,
		),
	)
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, content := range [][]byte{text, sealPlan(text)} {
			p, err := Parse(content)
			if err != nil {
				if strings.Contains(err.Error(), "\n") || len(err.Error()) > 300 {
					t.Fatalf("the error is not a sentence: %v", err)
				}
				continue
			}
			again, err := p.Bytes()
			if err != nil {
				t.Fatal(err)
			}
			second, err := Parse(again)
			if err != nil {
				t.Fatalf("what was read can't be read again: %v", err)
			}
			if diff := cmp.Diff(p, second, cmpopts.IgnoreUnexported(Plan{}), cmpopts.EquateEmpty()); diff != "" {
				t.Fatal(diff)
			}
			_, _ = p.SubmissionWith(config.Variables{Assignments: []string{"k=v"}})
		}
	})
}
