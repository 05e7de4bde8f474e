package agentserver

import (
	"log"
	"net"
	"regexp"
	"strings"
)

// codeHandshake is what the log and status call a caller that refused us: it
// gets no answer.
const codeHandshake = "handshake"

// handshakeLog makes refusals of what the HTTP server has to say about callers
// that broke the handshake off because of our certificate: most often a host that
// was made by another installation, or whose authority was dropped. The rest is
// for debugging.
type handshakeLog struct{ s *Server }

var brokenHandshake = regexp.MustCompile(`^http: TLS handshake error from (\S+): remote error: tls: ([a-z ]+)`)

func (l handshakeLog) Write(line []byte) (int, error) {
	text := strings.TrimSpace(string(line))
	found := brokenHandshake.FindStringSubmatch(text)
	if found == nil {
		l.s.Logger.Debug(text)
		return len(line), nil
	}
	from, _, err := net.SplitHostPort(found[1])
	if err != nil {
		from = found[1]
	}
	no := &refusal{
		code: codeHandshake,
		detail: "the caller doesn't trust this manager's certificate (" + found[2] +
			"): it pins another authority or asks for another name",
	}
	l.s.refusals.note("handshake", from, no)
	l.s.facts.note(from, no, l.s.Now())
	return len(line), nil
}

// errorLog is the HTTP server's log.
func (s *Server) errorLog() *log.Logger { return log.New(handshakeLog{s}, "", 0) }
