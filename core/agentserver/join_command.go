package agentserver

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// JoinCommand is what a person pastes on a host that exists already.
type JoinCommand struct {
	Bootstrap fleet.BootstrapIntent
	// Token is secret until it is spent, and so is the line.
	Token string
	// Foreground lets the agent run in the shell that the line is pasted into.
	Foreground bool
}

// joinDocument is the bootstrap document on the wire, as the agent reads it.
type joinDocument struct {
	ManagerURL    string `json:"manager_url"`
	ServerName    string `json:"server_name"`
	CAFingerprint string `json:"ca_fingerprint"`
	Token         string `json:"token"`
	AgentURL      string `json:"agent_url"`
	AgentSHA256   string `json:"agent_sha256"`
}

// Line is one line for any POSIX shell, bash and zsh among them: it downloads the
// agent, by curl or else wget, checks it, and hands it the bootstrap document.
//
// The manager's certificate is its own making, so nothing is believed of the
// connection: the digest in the line is what makes the download good, and the
// agent pins the authority of the document before it sends the token. The
// document goes through a pipe from the shell's own printf, and so never stands
// among a process's arguments. Only what Linux and macOS both have is used.
func (c JoinCommand) Line() (string, error) {
	b := c.Bootstrap
	document, err := json.Marshal(
		joinDocument{b.ManagerURL, b.ServerName, b.CAFingerprint, c.Token, b.AgentURL, b.AgentSHA256},
	)
	if err != nil {
		return "", fmt.Errorf("encode the bootstrap document: %w", err)
	}
	join := `"$f" join`
	if c.Foreground {
		join += " --foreground"
	}
	steps := []string{
		`umask 077`,
		`d=$(mktemp -d "${HOME:-/tmp}/.forgeyard-join.XXXXXX") || exit 1`,
		`trap 'rm -rf "$d"' EXIT`,
		`f="$d/forgeyard-runner"`,
		`u=` + quoted(b.AgentURL),
		`if command -v curl >/dev/null 2>&1; then curl -fsSk -o "$f" "$u"; else wget -q --no-check-certificate -O "$f" "$u"; fi || { echo "The agent could not be downloaded from $u" >&2; exit 1; }`,
		`h=$({ sha256sum "$f" 2>/dev/null || shasum -a 256 "$f"; } | cut -d" " -f1)`,
		`[ "$h" = ` + b.AgentSHA256 +
			` ] || { echo "What $u sent is not the agent of this command: its sha256 is $h. Nothing was started." >&2; exit 1; }`,
		`chmod 700 "$f"`,
		`printf "%s\n" ` + quoted(string(document)) + ` | ` + join,
	}
	return "( " + strings.Join(steps, "; ") + " )", nil
}

// quoted is a word for the shell that means exactly the text.
func quoted(text string) string {
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
