//go:build unix

package pluginhost

import (
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/pluginhost/pluginlog"
)

func TestAHandshakeThatTricklesInIsAwaited(t *testing.T) {
	process := started(t, launch(t, "trickled handshake"))
	if _, err := process.Info(t.Context()); err != nil {
		t.Error(err)
	}
}

// A host that trusts the handshake talks to any process that listens there.
func TestAnAddressThatIsNotThePluginsOwnSocketIsRefused(t *testing.T) {
	for mode, want := range map[string]string{
		"another network":                    "not a Unix socket",
		"a socket that isn't there":          "no such file or directory",
		"an abstract socket":                 "no such file or directory",
		"a file for a socket":                "not a socket",
		"a symbolic link to its socket":      "not a socket",
		"a socket behind a linked directory": "outside of its own launch directory",
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			l := launch(t, mode)
			began := time.Now()
			startFails(t, l, "it wants to be reached at", want, "PLUGIN_UNIX_SOCKET_DIR")
			if took := time.Since(began); took >= l.StartTimeout {
				t.Errorf("it took %s", took)
			}
		})
	}
}

func TestACertificateThatIsNotTheServersIsRefusedAndToldSo(t *testing.T) {
	for mode, want := range map[string]string{
		"another's certificate":      "certificate signed by unknown authority",
		"no certificate":             "certificate signed by unknown authority",
		"certificate that is none":   "error parsing server cert",
		"certificate of no encoding": "error parsing server cert",
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			l := launch(t, mode)
			l.StartTimeout = 5 * time.Second
			startFails(t, l, "start provider test.here", want)
		})
	}
}

// go-plugin stops reading at a line of 64 KiB; a process that writes the rest
// of it to go-plugin waits for ever.
func TestNoFirstLineKeepsAStartFromEnding(t *testing.T) {
	for mode, want := range map[string]string{
		"long handshake":    "(stdout) 1|1|unix|/nowhere|grpc|xxx",
		"noise without end": "(stdout) library v1 is loading",
		"closed stdout":     "start provider test.here",
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			l := launch(t, mode)
			l.StartTimeout = 2 * time.Second
			ended := make(chan error, 1)
			go func() {
				_, err := Start(t.Context(), l)
				ended <- err
			}()
			select {
			case err := <-ended:
				wantError(t, err, want)
				if len(err.Error()) > 20*pluginlog.MaxLastLine {
					t.Errorf("an error of %d bytes", len(err.Error()))
				}
			case <-time.After(time.Minute):
				t.Fatal("the start does not end")
			}
			wantEmpty(t, l.RunDir)
		})
	}
}
