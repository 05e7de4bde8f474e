// Package provider is what the author of a provider plugin writes against: three
// methods, one struct for each of the two HCL blocks, and Serve.
//
//	type Config   struct { Region string `fleet:"region,required" doc:"Where to build."` }
//	type Instance struct { CPUs   int    `fleet:"cpus,immutable" default:"4" doc:"Virtual CPUs."` }
//
//	func main() {
//		provider.Serve(provider.Plugin[Config, Instance]{Name: "acme", Version: version, New: newProvider, …})
//	}
//
// The package owns everything between the wire and these methods: schema and
// decoding, one call per key, panics, draining, liveness, logs. It never decides
// what to create or remove, never retries, and keeps nothing across restarts.
//
// Package providertest runs the rules of the contract against a plugin in its
// own test.
//
// # What an answer means
//
// Unknown is the default: a plain error from Provision says that it is not
// known whether something exists, and the manager holds a place for it until an
// inspection shows the truth. Only NotCreated claims that nothing was made.
package provider

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"regexp"
	"time"
)

// SDKVersion is the version of this module, told to the host for support.
const SDKVersion = "0.1.0"

// Provider is all a plugin must implement. I is its own instance block, decoded
// and checked before any method sees it. Methods are called from many
// goroutines; never twice at once for one key.
type Provider[I any] interface {
	// Inspect yields every resource of this installation, in any state, and free
	// assets where the provider has them. An error at the end tells the host that
	// the list is incomplete; a short list without one makes the manager forget
	// machines. Query may narrow the inspection; yielding more is fine.
	Inspect(ctx context.Context, query Query) iter.Seq2[Resource, error]
	// Provision makes one instance for request.Key, or returns the one that the
	// key already made (with Existed set). A plain error means unknown; wrap
	// it with NotCreated to claim that nothing exists. The context outlives the
	// host's timeout on purpose: an answer that is cut off is lost.
	Provision(ctx context.Context, request ProvisionRequest[I]) (Resource, error)
	// Terminate removes one resource and says how far it got. Removing what is
	// gone is Gone, not an error. It refuses a resource that carries another key.
	Terminate(ctx context.Context, ref Ref) (TerminateState, error)
}

// Validator is implemented by a config or instance struct that has rules its
// tags can't say. It is asked offline, before any provider exists.
type Validator interface {
	Validate() []Diagnostic
}

// Plugin describes one plugin: C is its provider block, I its instance block.
// The comments of the fields are the manual.
type Plugin[C, I any] struct {
	// Name is the provider type in fleet.hcl: provider "acme" { … }.
	Name string
	// Version is the plugin's own version (semver).
	Version string
	// New binds the process to one provider block. It is called once, and again
	// only if it failed. The context lives as long as the plugin, so clients may
	// keep it. An error that is a Diagnostic is shown at the block's line.
	New func(ctx context.Context, config C, environment Environment) (Provider[I], error)
	// Idempotency is what makes the same key safe to send twice. The zero value
	// makes the host ask a person after every lost answer.
	Idempotency Idempotency
	// Ownership is what proves that a resource is ours. With the zero value the
	// host never deletes anything.
	Ownership Ownership
	// ListSettle is how long Inspect may miss a resource after the call that made
	// it is over. 0: never, the list is consistent.
	ListSettle time.Duration
	// Attestations are what Resource.Attested may ever have: any of AttestKVM, AttestGPU,
	// AttestSigning and AttestConfidential. A fleet whose class asks for another is refused
	// before anything is made.
	Attestations []string
	// Unattestable says which of them the instances of a block can't have, and why. It is
	// called offline, before New too. Nil: every block can have each.
	Unattestable func(config C, instance I) []Unattestable
	// InspectionPace is what a list costs, which bounds how often the host inspects.
	InspectionPace InspectionPace
	// Joined says that a person joins each host of an inventory, which Inspect
	// lists as assets: the host (the manager) makes none by itself. New and
	// Inspect must then do without a network.
	Joined bool
	// Market says that what New returns implements Market: the host asks it for
	// offers, and sends in each request those that may be used.
	Market bool
	// Checks says that the provider that New gives is a Checker: it is asked about each
	// instance block when a plan is made.
	Checks bool
	// Events says that the provider that New gives is a Watcher.
	Events bool
	// Identity says that the provider that New gives is an IdentityVerifier: a fleet's
	// hosts then enroll with evidence that it verifies, unless the fleet does without.
	Identity bool
	// IdentityNeeds is the attribute of the provider block without which nothing can be
	// verified, such as whose signatures count: fleets of a block that lacks it enroll
	// without evidence. Empty: there is none.
	IdentityNeeds string
	// Policy writes what the credentials of a provider block must be allowed to do for
	// the instance blocks of its fleets, and nothing more, in the infrastructure's own
	// form. What is changed or removed carries the installation's name. It is called
	// offline, before New too. Nil: the plugin can't say.
	Policy func(config C, instances []I, installation string) (string, error)
	// Batches says that the provider that New gives is a BatchProvisioner: a fleet may
	// then ask for several instances by one call. It takes Identity and
	// IdempotentNative.
	Batches bool
	// Parallel bounds how many items of one call run at once; 0: 8.
	Parallel int
	// MaxBatch is how many items one call may carry, and how many members a batch may
	// have; 0: the host decides.
	MaxBatch int
}

// Environment is what the host gives a configured plugin.
type Environment struct {
	// Installation marks what is ours among other managers' resources.
	Installation string
	// StateDir is a cache that may be emptied at any time; absolute.
	StateDir string
	// Logger reaches the host's log. Never print secrets or bootstrap documents.
	Logger *slog.Logger

	account *string
}

// SetAccount names what the credentials reach ("account 1234 in eu-west-1").
// Every instance remembers it, and from another account nothing is concluded
// about the instance. Call it within New.
func (e Environment) SetAccount(account string) {
	if e.account != nil {
		*e.account = account
	}
}

var pluginNamePattern = regexp.MustCompile(`^[a-z][a-z0-9-]{0,62}$`)

// Check finds what is wrong with the plugin's own declaration: a missing field,
// a bad tag, a default that doesn't fit. Call it in a test; Serve refuses to
// start with the same error.
func (p Plugin[C, I]) Check() error {
	_, err := p.compile()
	return err
}

// blocks are the two compiled block types of a plugin.
type blocks struct {
	config   *blockType
	instance *blockType
}

func (p Plugin[C, I]) compile() (blocks, error) {
	var problems []error
	if !pluginNamePattern.MatchString(p.Name) {
		problems = append(problems, fmt.Errorf("name %q must be lower-case letters, digits and dashes", p.Name))
	}
	if p.Version == "" {
		problems = append(problems, errors.New("version is empty"))
	}
	if p.New == nil {
		problems = append(problems, errors.New("field New is nil"))
	}
	if p.Parallel < 0 || p.MaxBatch < 0 || p.ListSettle < 0 {
		problems = append(problems, errors.New("none of Parallel, MaxBatch and ListSettle can be negative"))
	}
	if err := p.checkAttestations(); err != nil {
		problems = append(problems, err)
	}
	if err := p.InspectionPace.check(); err != nil {
		problems = append(problems, err)
	}
	if err := p.checkBatchesDeclared(); err != nil {
		problems = append(problems, err)
	}
	config, err := compileBlock[C]()
	if err != nil {
		problems = append(problems, fmt.Errorf("provider block: %w", err))
	}
	instance, err := compileBlock[I]()
	if err != nil {
		problems = append(problems, fmt.Errorf("instance block: %w", err))
	}
	if err := p.checkIdentityNeeds(config); err != nil {
		problems = append(problems, err)
	}
	if len(problems) > 0 {
		return blocks{},
			fmt.Errorf("plugin %q is declared wrongly, a bug in the plugin:\n%w", p.Name, errors.Join(problems...))
	}
	return blocks{config: config, instance: instance}, nil
}
