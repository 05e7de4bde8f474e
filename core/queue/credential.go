package queue

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/forgeyard/forgeyard-fleet/core/problem"
)

// credentialPrefix begins a runner's credential.
const credentialPrefix = "fyq1."

// credential is a runner's own: by it the worker can lease, renew and finish for
// this runner, and do nothing else. It is derived, so that a repeated admission
// gives the same one, and a queue that was restarted with the same token still
// knows it.
func (s *Server) credential(runner string) string {
	mac := hmac.New(sha256.New, []byte(s.token))
	mac.Write([]byte("forgeyard-queue runner credential\x00" + runner))
	return credentialPrefix + runner + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// bearer is the token of a call.
func bearer(ctx huma.Context) string {
	kind, token, _ := strings.Cut(ctx.Header("Authorization"), " ")
	if !strings.EqualFold(kind, "Bearer") {
		return ""
	}
	return token
}

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// ofOperator refuses callers other than the fleet manager and submitters.
func (s *Server) ofOperator(ctx huma.Context) error {
	token := bearer(ctx)
	if same(token, s.token) {
		return nil
	}
	if strings.HasPrefix(token, credentialPrefix) {
		return problem.New(http.StatusForbidden, "a runner's credential is valid only for the jobs of that runner")
	}
	return problem.New(http.StatusUnauthorized, "the bearer token is missing or isn't this queue's")
}

// ofRunner refuses callers other than the runner in the path.
func (s *Server) ofRunner(ctx huma.Context) error {
	if same(bearer(ctx), s.credential(ctx.Param("runner"))) {
		return nil
	}
	if strings.HasPrefix(bearer(ctx), credentialPrefix) {
		return problem.New(http.StatusForbidden, "the credential isn't that of the runner in the path")
	}
	return problem.New(http.StatusUnauthorized, "this call needs the credential that the runner got at its admission")
}
