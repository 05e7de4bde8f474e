package process

import (
	"os"
	"testing"
)

func TestStatLineWithAnyCommandNameIsParsed(t *testing.T) {
	line := "42 (a) Z 1 2 (evil) name) S 7 8 9 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 123456 0 0\n"
	p, err := parseStat(42, []byte(line))
	if err != nil || p != (Process{PID: 42, parent: 7, group: 8, started: "123456"}) {
		t.Errorf("%+v, %v", p, err)
	}
	self, err := readProcess(os.Getpid())
	if err != nil || self.parent != os.Getppid() {
		t.Errorf("%+v, %v", self, err)
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte("42 (x) S 7 8 9 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 123456 0 0\n"))
	f.Add([]byte(")"))
	f.Fuzz(func(t *testing.T, line []byte) {
		if p, err := parseStat(1, line); err == nil && p.started == "" {
			t.Error("a process without a start")
		}
	})
}

func BenchmarkListProcesses(b *testing.B) {
	for b.Loop() {
		if _, err := List(); err != nil {
			b.Fatal(err)
		}
	}
}
