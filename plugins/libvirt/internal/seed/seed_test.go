package seed

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/bootstrap"
)

func document(kind string) bootstrap.Document {
	return bootstrap.Document{
		Kind: kind, ManagerURL: "https://10.0.2.2:7443", ServerName: "manager.inst", Token: "tok-secret",
		CAFingerprint: "sha256:" + strings.Repeat("ab", 32),
	}
}

// A program that has nothing to do with this one reads what is on the disk.
func extract(t *testing.T, image []byte) map[string]string {
	t.Helper()
	reader, err := exec.LookPath("xorriso")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("xorriso is missing (Debian: apt-get install xorriso)")
		}
		t.Skip("SKIP: xorriso is missing (Debian: apt-get install xorriso)")
	}
	folder := t.TempDir()
	path := filepath.Join(folder, "seed.iso")
	if err := os.WriteFile(path, image, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), reader, "-indev", path, "-osirrox", "on", "-extract", "/",
		filepath.Join(folder, "out"), "-pvd_info").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if !strings.Contains(string(out), "Volume Id    : "+Label) {
		t.Errorf("the label isn't %s:\n%s", Label, out)
	}
	files := map[string]string{}
	entries, err := os.ReadDir(filepath.Join(folder, "out"))
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		content, err := os.ReadFile(filepath.Join(folder, "out", entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[entry.Name()] = string(content)
	}
	return files
}

func TestTheSeedOfCloudInitHasItsTwoFiles(t *testing.T) {
	image, err := Image(document(bootstrap.KindCloudInit), "k1", "linux-k1")
	if err != nil {
		t.Fatal(err)
	}
	files := extract(t, image)
	if len(files) != 2 || files["meta-data"] != "instance-id: \"k1\"\nlocal-hostname: \"linux-k1\"\n" ||
		!strings.HasPrefix(files["user-data"], "#!/bin/sh\n") {
		t.Errorf("on the disk: %q", files)
	}
}

func TestTheSeedOfAnImageWithTheAgentHasTheDocument(t *testing.T) {
	wanted := document(bootstrap.KindFile)
	image, err := Image(wanted, "k1", "linux-k1")
	if err != nil {
		t.Fatal(err)
	}
	files := extract(t, image)
	if got, err := bootstrap.Parse([]byte(files[DocumentName])); err != nil || got != wanted {
		t.Errorf("got %v, %v", got, err)
	}
	if len(files) != 3 {
		t.Errorf("on the disk: %q", files)
	}
}

func TestFilesOfManySectorsAreWhole(t *testing.T) {
	long := bytes.Repeat([]byte("0123456789abcdef"), 1000)
	image, err := iso9660(Label, []file{{"user-data", long}, {"meta-data", nil}, {"vendor-data", long[:2048]}})
	if err != nil {
		t.Fatal(err)
	}
	files := extract(t, image)
	if files["user-data"] != string(long) || files["vendor-data"] != string(long[:2048]) || files["meta-data"] != "" ||
		len(files) != 3 {
		t.Error("the files came back changed")
	}
}

func TestTheSameDocumentGivesTheSameSeed(t *testing.T) {
	first, err := Image(document(bootstrap.KindFile), "k1", "linux-k1")
	if err != nil {
		t.Fatal(err)
	}
	second, err := Image(document(bootstrap.KindFile), "k1", "linux-k1")
	if err != nil || !bytes.Equal(first, second) {
		t.Errorf("two seeds differ, %v", err)
	}
}

func TestAKindThatNoImageTakesIsRefused(t *testing.T) {
	for _, kind := range []string{"", "ignition"} {
		if _, err := Image(document(kind), "k1", "linux-k1"); err == nil || strings.Contains(err.Error(), "tok-secret") {
			t.Errorf("%q: %v", kind, err)
		}
	}
}
