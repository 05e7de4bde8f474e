package local

import (
	"os"
	"testing"
)

func TestStatLineIsReadWhateverTheCommandIsCalled(t *testing.T) {
	const rest = " S 7 42 40 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 123456 99"
	for name, line := range map[string]string{
		"a plain name":         "42 (sleep)" + rest,
		"spaces and brackets":  "42 (a) Z 1 1 (b))" + rest,
		"a name of line feeds": "42 (a\n)" + rest,
	} {
		got, err := parseStat(42, []byte(line))
		want := process{pid: 42, parent: 7, session: 40, begun: "123456"}
		if err != nil || got != want {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
	}
	for _, line := range []string{"", "42 (sleep) S 7",
		"42 (sleep) S x 42 40 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 123456"} {
		if got, err := parseStat(42, []byte(line)); err == nil {
			t.Errorf("%q was read as %+v", line, got)
		}
	}
}

func TestOwnProcessIsFoundAndAlive(t *testing.T) {
	all, err := processes()
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, one := range all {
		found = found || one.pid == os.Getpid() && one.parent == os.Getppid()
	}
	if !found {
		t.Error("this process isn't in the list")
	}
	self := identify(os.Getpid())
	if !self.alive() || !self.mayLead() {
		t.Errorf("%+v isn't alive", self)
	}
}
