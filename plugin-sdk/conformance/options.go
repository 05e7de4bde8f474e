package conformance

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"runtime"
	"strings"
	"time"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/providerpb"
)

// Options are what a plugin is tested with. The comments are the manual.
type Options struct {
	// Provider is the provider block as JSON, secrets in place.
	Provider []byte
	// Instance is the instance block as JSON.
	Instance []byte
	// AllowCreate lets the rules create instances, a dozen in all and up to three
	// at once. Without it only what creates nothing is checked.
	AllowCreate bool
	// Assets are the ids of hosts that may be taken, for plugins whose instances
	// are hosts of an inventory. One is enough; three let every rule work fully.
	Assets []string
	// Image is the image reference that goes into the requests.
	Image string
	// OS and Arch are the platform; both empty: this machine's.
	OS, Arch string
	// AgentURL and AgentSHA256 say where hosts fetch the agent, where it isn't in
	// the image. Nothing has to answer there unless the plugin itself fetches it.
	AgentURL, AgentSHA256 string
	// Outage makes the infrastructure unreachable, and the function that it gives
	// mends it. Nil: the rule about incomplete lists is left out.
	Outage func(context.Context) (mend func(context.Context) error, err error)
	// Proxy puts a proxy between a plugin that talks HTTP and its infrastructure, which
	// cuts and fails answers. Nil: the rules that need it are left out.
	Proxy *Proxy
	// Count counts what there is in the infrastructure without the plugin: instances and
	// whatever belongs to them, such as volumes and addresses. Nil: what the plugin makes
	// and doesn't list isn't noticed.
	Count func(context.Context) (int, error)
	// PageSize is how many resources a page of the infrastructure's list has, where that is
	// small enough to make one more, as with a stub; 0: not known.
	PageSize int
	// Only are the names of the rules to check, with what they need; none: all.
	Only []string
	// Begun is told the name of each rule before it is checked; nil: nothing is.
	Begun func(rule string)
	// Evidence is what genuine evidence is sent with, for plugins that verify
	// identities. Nil: the rules that need some are left out.
	Evidence *providerpb.VerifyRequest
	// StateDir is the plugin's cache for the run.
	StateDir string
	// Patience is how long a slow create or removal may take; 0: 5 minutes.
	Patience time.Duration
	// Random makes keys, the installation's name and the token; nil: crypto/rand.
	Random io.Reader
}

// WithDefaults are the options with what they don't say.
func (o Options) WithDefaults() Options {
	if o.Patience == 0 {
		o.Patience = 5 * time.Minute
	}
	if o.Random == nil {
		o.Random = rand.Reader
	}
	if o.OS == "" && o.Arch == "" {
		o.OS, o.Arch = runtime.GOOS, runtime.GOARCH
		if o.Arch == "amd64" {
			o.Arch = "x86_64"
		}
	}
	return o
}

// idLetters are those of a ULID in lower case.
const idLetters = "0123456789abcdefghjkmnpqrstvwxyz"

// idText is n random letters, beginning with a digit below 8 as a ULID does.
func idText(random io.Reader, n int) (string, error) {
	raw := make([]byte, n)
	if _, err := io.ReadFull(random, raw); err != nil {
		return "", fmt.Errorf("make an id: %w", err)
	}
	var text strings.Builder
	for i, one := range raw {
		if i == 0 {
			one %= 8
		}
		text.WriteByte(idLetters[one%32])
	}
	return text.String(), nil
}
