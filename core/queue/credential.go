package queue

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"net/http"
	"strings"
)

// credentialPrefix begins a runner's credential.
const credentialPrefix = "fyq1."

// credential is a runner's own: by it the worker can lease, renew and finish for
// this runner, and do nothing else. It is derived, so that a repeated admission
// gives the same one, and a queue that was started anew with the same token still
// knows it.
func (s *Server) credential(runner string) string {
	mac := hmac.New(sha256.New, []byte(s.token))
	mac.Write([]byte("forgeyard-queue runner credential\x00" + runner))
	return credentialPrefix + runner + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// bearer is a request's token.
func bearer(r *http.Request) string {
	kind, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(kind, "Bearer") {
		return ""
	}
	return token
}

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// ofOperator refuses whoever isn't the fleet manager or a submitter.
func (s *Server) ofOperator(r *http.Request) error {
	token := bearer(r)
	if same(token, s.token) {
		return nil
	}
	if strings.HasPrefix(token, credentialPrefix) {
		return &httpError{http.StatusForbidden, "this is a runner's credential, and it is good for that runner's jobs alone"}
	}
	return &httpError{http.StatusUnauthorized, "the bearer token is missing or isn't this queue's"}
}

// ofRunner refuses whoever isn't the runner of the path.
func (s *Server) ofRunner(r *http.Request) error {
	if same(bearer(r), s.credential(r.PathValue("runner"))) {
		return nil
	}
	if strings.HasPrefix(bearer(r), credentialPrefix) {
		return &httpError{http.StatusForbidden, "this credential isn't that of the runner of the path"}
	}
	return &httpError{http.StatusUnauthorized, "these calls take the credential that the runner was given when it was admitted"}
}
