//go:build linux || darwin

package local

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/bootstrap"
)

// agentServer offers an agent and counts its downloads.
func agentServer(t *testing.T, content string) (bootstrap.Document, *atomic.Int32) {
	t.Helper()
	var downloads atomic.Int32
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		downloads.Add(1)
		w.Write([]byte(content))
	}))
	t.Cleanup(server.Close)
	digest := sha256.Sum256([]byte(content))
	return bootstrap.Document{
		ManagerURL: server.URL, ServerName: "example.com", Token: "tok-secret",
		CAFingerprint: bootstrap.Fingerprint(server.Certificate()),
		AgentURL:      server.URL + "/agent", AgentSHA256: hex.EncodeToString(digest[:]),
	}, &downloads
}

func TestAgentIsDownloadedOnceForAWholeBatch(t *testing.T) {
	document, downloads := agentServer(t, "the agent")
	source := newRunnerSource("", t.TempDir()+"/cache")
	var batch sync.WaitGroup
	for range 8 {
		batch.Go(func() {
			binary, err := source.path(t.Context(), document)
			if err != nil {
				t.Error(err)
				return
			}
			if info, err := os.Stat(binary); err != nil || info.Mode().Perm() != 0o755 {
				t.Errorf("got %v, %v", info, err)
			}
		})
	}
	batch.Wait()
	if downloads.Load() != 1 {
		t.Errorf("%d downloads", downloads.Load())
	}
}

func TestDamagedOrEmptiedCacheIsFilledAgain(t *testing.T) {
	document, downloads := agentServer(t, "the agent")
	cache := t.TempDir() + "/cache"
	source := newRunnerSource("", cache)
	binary, err := source.path(t.Context(), document)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(binary, []byte("something else"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := source.path(t.Context(), document); err != nil {
		t.Fatal(err)
	}
	if !hasDigest(binary, document.AgentSHA256) {
		t.Error("the damaged file is still there")
	}
	if err := os.RemoveAll(cache); err != nil {
		t.Fatal(err)
	}
	if _, err := source.path(t.Context(), document); err != nil {
		t.Fatal(err)
	}
	if downloads.Load() != 3 {
		t.Errorf("%d downloads", downloads.Load())
	}
}

func TestConfiguredRunnerIsTakenWithoutAsking(t *testing.T) {
	document, downloads := agentServer(t, "the agent")
	binary, err := newRunnerSource("/opt/forgeyard-runner", t.TempDir()).path(t.Context(), document)
	if err != nil || binary != "/opt/forgeyard-runner" || downloads.Load() != 0 {
		t.Errorf("got %q, %v after %d downloads", binary, err, downloads.Load())
	}
}
