package secret_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/secret"
)

const planted = "hunter2-planted"

func environment(values map[string]string) secret.LookupEnv {
	return func(name string) (string, bool) {
		value, ok := values[name]
		return value, ok
	}
}

func noFiles(string) ([]byte, error) { return nil, errors.New("no file is read in this test") }

func TestReferencesAreReplacedAndNothingElseIs(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("from <the> file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	body := json.RawMessage(
		`{"auth":{"token":{"$secret":"env:TOKEN"}},"big":9007199254740993,"disk":[{"key":{"$secret":"file:` + file +
			`"}}],"html":"a&b","name":"$secret"}`,
	)
	original := string(body)
	got, err := with(environment(map[string]string{"TOKEN": planted}), secret.ReadFile).Resolve(t.Context(), body)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"auth":{"token":"` + planted +
		`"},"big":9007199254740993,"disk":[{"key":"from <the> file"}],"html":"a&b","name":"$secret"}`
	if string(got.Body) != want {
		t.Errorf("got %s, want %s", got.Body, want)
	}
	if difference := cmp.Diff([]string{planted, "from <the> file"}, got.Secrets); difference != "" {
		t.Error(difference)
	}
	if shown := fmt.Sprintf("%v %+v %#v %s", got, got, got, &got); strings.Contains(shown, planted) {
		t.Errorf("a formatted body shows its secrets: %s", shown)
	}
	if string(body) != original {
		t.Errorf("the body itself was changed: %s", body)
	}
	if err := with(
		environment(map[string]string{"TOKEN": planted}),
		secret.ReadFile,
	).Check(t.Context(), body); err != nil {
		t.Errorf("the check refuses what can be resolved: %v", err)
	}
}

func TestABodyWithoutReferencesStaysAsItIs(t *testing.T) {
	for _, body := range []string{`{}`, `{"a":[1,2.50,"x"]}`, ``, `not even JSON`} {
		got, err := with(environment(nil), noFiles).Resolve(t.Context(), json.RawMessage(body))
		if err != nil || string(got.Body) != body || len(got.Secrets) > 0 {
			t.Errorf("%q became %q, %v", body, got.Body, err)
		}
	}
}

func TestEveryMissingSecretIsNamedWithItsPlaceAtOnce(t *testing.T) {
	body := json.RawMessage(
		`{"a":{"$secret":"env:MISSING"},"b":[{"c":{"$secret":"env:EMPTY"}}],"d":{"$secret":"file:/nowhere/at/all"},"e":{"$secret":"nonsense"},"f":{"$secret":"env:FINE"}}`,
	)
	lookup := environment(map[string]string{"EMPTY": "", "FINE": planted})
	got, err := with(lookup, secret.ReadFile).Resolve(t.Context(), body)
	checked := with(lookup, secret.ReadFile).Check(t.Context(), body)
	if got.Body != nil || len(got.Secrets) > 0 || err == nil || checked == nil || err.Error() != checked.Error() {
		t.Fatalf("resolve: %s, %v; check: %v", got.Body, err, checked)
	}
	for _, want := range []string{`a: secret("env:MISSING") is not set`, `b[0].c: secret("env:EMPTY") is empty`,
		`d: secret("file:/nowhere/at/all") can't be read: no such file`, `e: secret("nonsense") is not a reference`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in:\n%v", want, err)
		}
	}
	if strings.Contains(err.Error(), planted) {
		t.Errorf("a value is in the error:\n%v", err)
	}
	found := secret.Diagnostics(err)
	if len(found) != 4 {
		t.Fatalf("%d diagnostics: %+v", len(found), found)
	}
	if difference := cmp.Diff([]fleet.PathStep{{Name: "b"}, {Index: 0}, {Name: "c"}}, found[1].Path); difference != "" {
		t.Error(difference)
	}
}

func TestAFileThatOthersMayUseIsRefused(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, mode os.FileMode, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(write("behind-a-link", 0o604, planted), link); err != nil {
		t.Fatal(err)
	}
	for name, one := range map[string]struct{ path, want string }{
		"its group may read it":   {write("group", 0o640, planted), "chmod 600"},
		"all may read it":         {write("all", 0o604, planted), "chmod 600"},
		"its group may write it":  {write("write", 0o620, planted), "chmod 600"},
		"so is one behind a link": {link, "chmod 600"},
		"a folder":                {dir, "not a regular file"},
		"an empty file":           {write("empty", 0o600, "\n"), "is empty"},
		"a large file":            {write("large", 0o600, strings.Repeat("x", 70<<10)), "larger than 64 KiB"},
		"a relative path":         {"token", "absolute path"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := with(environment(nil), secret.ReadFile).Value(t.Context(), fleet.SecretReference("file:"+one.path))
			if err == nil || got != "" || !strings.Contains(err.Error(), one.want) || strings.Contains(err.Error(), planted) {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
	got, err := with(
		environment(nil),
		secret.ReadFile,
	).Value(t.Context(), fleet.SecretReference("file:"+write("own", 0o400, planted+"\r\n")))
	if err != nil || got != planted {
		t.Errorf("a file of its owner alone: %q, %v", got, err)
	}
}

func TestACancelledCallReadsNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	asked := false
	lookup := func(string) (string, bool) { asked = true; return planted, true }
	_, err := with(lookup, noFiles).Resolve(ctx, json.RawMessage(`{"a":{"$secret":"env:A"}}`))
	if !errors.Is(err, context.Canceled) || asked {
		t.Errorf("%v, asked %t", err, asked)
	}
	if _, err := with(lookup, noFiles).Value(ctx, "env:A"); !errors.Is(err, context.Canceled) || asked {
		t.Errorf("%v, asked %t", err, asked)
	}
}

func TestABrokenBodyIsAnErrorWithoutTheBody(t *testing.T) {
	_, err := with(environment(nil), noFiles).Resolve(t.Context(), json.RawMessage(`{"$secret": `+planted))
	if err == nil || strings.Contains(err.Error(), planted) {
		t.Errorf("%v", err)
	}
}

func FuzzResolve(f *testing.F) {
	f.Add([]byte(`{"a":{"$secret":"env:A"},"b":[{"$secret":"env:B"}]}`))
	f.Add([]byte(`{"$secret":{"$secret":"env:A"}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		lookup := environment(map[string]string{"A": planted})
		got, err := with(lookup, noFiles).Resolve(t.Context(), body)
		if err != nil && strings.Contains(err.Error(), planted) {
			t.Fatalf("a value is in the error: %v", err)
		}
		if checked := with(lookup, noFiles).Check(t.Context(), body); (checked == nil) != (err == nil) {
			t.Fatalf("check %v, resolve %v", checked, err)
		}
		if err == nil && json.Valid(body) && !json.Valid(got.Body) {
			t.Fatalf("%q became %q", body, got.Body)
		}
	})
}

func with(lookup secret.LookupEnv, files secret.FileReader) secret.Resolver {
	return secret.Resolver{LookupEnv: lookup, ReadFile: files}
}
