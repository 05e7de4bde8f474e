// Package providertest runs the conformance kit against a plugin in a Go test,
// in process: each start of the plugin is a new server on a connection in memory.
//
//	func TestConformance(t *testing.T) {
//		providertest.Run(t, plugin, providertest.Options{
//			Provider:    map[string]any{"root": t.TempDir()},
//			AllowCreate: true,
//		})
//	}
//
// The rules are those of package conformance. What takes a process of its own
// (standard output, the death of the host, a crash in the middle of a call) is
// left out here and checked by "forgeyard-fleet plugin test BINARY".
package providertest

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/conformance"
	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider"
)

// Options are what a plugin is tested with. The comments are the manual.
type Options struct {
	// Provider and Instance are the two blocks: anything that encoding/json makes
	// an object of, such as a map or json.RawMessage. Nil: an empty block. They are
	// in the words of the fleet file, not in those of the struct.
	Provider, Instance any
	// AllowCreate lets the kit create instances, a dozen in all and up to three at
	// once, and remove them again. Without it only what creates nothing is checked.
	AllowCreate bool
	// Assets are the ids of hosts that may be taken, for plugins whose instances
	// are hosts of an inventory. Three let every rule work fully.
	Assets []string
	// Image goes into the requests.
	Image string
	// OS and Arch are the platform; both empty: this machine's.
	OS, Arch string
	// Outage makes the infrastructure unreachable, and the function that it gives
	// mends it. Nil: the rule about incomplete lists is left out.
	Outage func(context.Context) (mend func(context.Context) error, err error)
	// Evidence is a genuine document that the infrastructure signed about an instance,
	// with that instance's id. Nil: of an identity verifier it is only checked that it
	// refuses a document without a valid signature.
	Evidence *provider.Evidence
	// Proxy puts a proxy between a plugin that talks HTTP and its stub or its
	// infrastructure, which cuts and fails answers. Nil: the rules that need it are left
	// out.
	Proxy *conformance.Proxy
	// Count counts what there is in the infrastructure, without the plugin. Nil: what it
	// makes and doesn't list isn't noticed.
	Count func(context.Context) (int, error)
	// PageSize is how many resources a page of the stub's list has; 0: not known.
	PageSize int
	// Patience is how long a slow create or removal may take; 0: 1 minute.
	Patience time.Duration
}

// Run checks every rule, each as a subtest that is named for it.
func Run[C, I any](t *testing.T, plugin provider.Plugin[C, I], options Options) {
	t.Helper()
	if options.Patience == 0 {
		options.Patience = time.Minute
	}
	launcher := Launcher(plugin.InProcess)
	err := conformance.Run(t.Context(), launcher, conformance.Options{
		Provider: object(t, options.Provider), Instance: object(t, options.Instance),
		AllowCreate: options.AllowCreate, Assets: options.Assets,
		Image: options.Image, OS: options.OS, Arch: options.Arch,
		Evidence: options.Evidence.Request(), Outage: options.Outage, StateDir: t.TempDir(), Patience: options.Patience,
		Proxy: options.Proxy, Count: options.Count, PageSize: options.PageSize,
	}, func(result conformance.Result) {
		t.Run(result.Rule, func(t *testing.T) {
			switch result.Verdict {
			case conformance.Skip:
				t.Skip(result.Reason)
			case conformance.Fail:
				t.Errorf("%s\nHere: %s\n%s", result.Says, result.Reason, strings.Join(result.Log, "\n"))
			}
		})
	})
	if err != nil {
		t.Error(err)
	}
}

// object is a block as JSON.
func object(t *testing.T, block any) []byte {
	t.Helper()
	if block == nil {
		return nil
	}
	content, err := json.Marshal(block)
	if err != nil {
		t.Fatalf("make JSON of a block of the test: %v", err)
	}
	return content
}

// Launcher starts plugins in process for package conformance. It is a function
// that starts a new instance of the plugin; its log lines go to the writer.
type Launcher func(logs io.Writer) (provider.InProcess, error)
