package pluginstore

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// hostile is a user of a registry that answers as the test says.
func hostile(t *testing.T, answer http.HandlerFunc) *user {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	return newUser(
		t,
		environment(t, map[string]string{}),
		strings.TrimPrefix(server.URL, "http://")+"/acme/fleet-example",
		"",
	)
}

// Registries hand out addresses of storage that are credentials.
func TestTheSecretsOfARedirectionAreInNoError(t *testing.T) {
	broken := httptest.NewServer(
		http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }),
	)
	t.Cleanup(broken.Close)
	for _, storage := range []string{"http://127.0.0.1:1", broken.URL} {
		u := hostile(t, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, storage+"/blob?X-Amz-Signature=sesame", http.StatusTemporaryRedirect)
		})
		if _, err := u.plain(); err == nil || strings.Contains(err.Error(), "sesame") ||
			!strings.Contains(err.Error(), storage+"/blob") {
			t.Error(err)
		}
	}
}

func TestARegistryThatStopsInItsAnswerIsGivenUp(t *testing.T) {
	t.Parallel()
	u := hostile(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"tags": [`))
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	u.Origin.Registry.stall = 20 * time.Millisecond
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err := u.Install(ctx, u.required, u.lock, false)
	var unreachable *UnreachableError
	if ctx.Err() != nil || !errors.As(err, &unreachable) || !strings.Contains(err.Error(), "nothing came") {
		t.Error(err)
	}
}
