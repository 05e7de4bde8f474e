package pluginlog

import (
	"io"
	"log/slog"
	"os"
	"strings"
	"testing"
)

func TestTheHandshakeIsFoundInNoise(t *testing.T) {
	for stdout, want := range map[string]string{
		"1|1|unix|/s|grpc|cert\n":                                "1|1|unix|/s|grpc|cert\n",
		"hello\n\x1b[0m1|1|tcp|127.0.0.1:1|grpc|\r\nmore\n":      "1|1|tcp|127.0.0.1:1|grpc|\n",
		strings.Repeat("x", 100<<10) + "\n1|1|unix|/s|grpc|\n":   "1|1|unix|/s|grpc|\n",
		"1|1|unix|/first|grpc|\n1|1|unix|/second|grpc|\nrubbish": "1|1|unix|/first|grpc|\n",
		"1|1|unix|/s|grpc|":                                      "1|1|unix|/s|grpc|\n",
		"a|b|c|d\n":                                              "",
		"":                                                       "",
	} {
		if got := filter(t, []byte(stdout)); got != want {
			t.Errorf("%.60q gives %q, want %q", stdout, got, want)
		}
	}
}

// filter runs a plugin's standard output through the filter of the handshake.
func filter(t testing.TB, stdout []byte) string {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		defer write.Close()
		write.Write(stdout)
	}()
	log := New(slog.New(slog.DiscardHandler), &Redactor{}, nil)
	passed, handshake := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		log.ReadStdout(read, handshake, func() {})
	}()
	got, err := io.ReadAll(passed)
	if err != nil {
		t.Fatal(err)
	}
	<-done // everything was read
	return string(got)
}

func TestALineOfManyPartsIsNoHandshakeInAny(t *testing.T) {
	const handshake = "1|1|unix|/s|grpc|"
	long := strings.Repeat("x", maxHandshake)
	for stdout, want := range map[string]string{
		handshake + long + "\n":                        "",
		long + handshake + "\n":                        "",
		long + handshake + long + "\n1|1|unix|/t|g|\n": "1|1|unix|/t|g|\n",
	} {
		if got := filter(t, []byte(stdout)); got != want {
			t.Errorf("%.30q… gives %q, want %q", stdout, got, want)
		}
	}
}

func FuzzHandshake(f *testing.F) {
	for _, seed := range []string{"1|1|unix|/s|grpc|c\n", "x\n1|1|tcp|a|\n", "\n\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, stdout []byte) {
		if got := filter(t, stdout); got != "" && (strings.Count(got, "\n") != 1 || strings.Count(got, "|") < 3) {
			t.Errorf("%q passed", got)
		}
	})
}
