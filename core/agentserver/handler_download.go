package agentserver

import (
	"errors"
	"net/http"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/agentapi"
)

// download sends the agent for a target. The caller checks the bytes against
// the hash in its bootstrap document.
func (s *Server) download(w http.ResponseWriter, r *http.Request) error {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return &refusal{status: http.StatusMethodNotAllowed, code: agentapi.CodeBadRequest, detail: "this endpoint takes GET"}
	}
	select {
	case s.downloads <- struct{}{}:
		defer func() { <-s.downloads }()
	default:
		return tryLater("too many downloads of the agent are in progress")
	}
	missing := &refusal{
		status: http.StatusNotFound,
		code:   agentapi.CodeBadRequest,
		detail: "this manager offers no agent binary for the target",
	}
	if s.Binaries == nil {
		return missing
	}
	f, sum, err := s.Binaries.Open(r.URL.Query().Get("target"))
	var none *NoAgentError
	if errors.As(err, &none) {
		return missing.with("error", err)
	}
	if err != nil {
		return tryLater("the agent can't be read").with("error", err)
	}
	defer f.Close()
	// A slow line may take longer than a JSON answer is allowed to.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(downloadTimeout))
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("ETag", `"sha256:`+sum+`"`)
	http.ServeContent(w, r, "", time.Time{}, f)
	return nil
}
