package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/providerpb"
)

// The host's deadlines, which a plugin has to keep. Provision's is since the
// last answer on the stream.
const (
	shortCall     = 10 * time.Second // GetInfo, Validate
	configureCall = time.Minute
	inspectCall   = 2 * time.Minute
	provisionCall = 5 * time.Minute
	terminateCall = 2 * time.Minute
	drainDeadline = 10 * time.Second
)

var errNoInfo = leftOut("the plugin doesn't describe itself")

// bench is one run of the kit: the plugin that runs now, and what was made.
type bench struct {
	launcher Launcher
	options  Options
	// installation is new for each run, so that nothing of a real one is touched.
	installation string
	// token stands for the enrollment token, and is a secret.
	token   string
	secrets []string

	info *providerpb.GetInfoResponse // nil: it couldn't be had
	// cannotValidate, cannotConfigure and cannotCreate say why what builds on it
	// is left out: one fault is told once.
	cannotValidate, cannotConfigure, cannotCreate string

	running    Running // nil: none
	configured bool
	said       []Line // by plugins that have ended

	items []*providerpb.ProvisionRequest_Item // all that were ever sent
	gone  map[string]bool                     // keys that were removed or never made
	free  []string                            // assets that aren't taken
	// usable are the offers that requests carry; nil: the plugin has no market.
	usable []*providerpb.Offer
	proxy  *faultProxy // nil: none
	// countBefore is how much there was before anything was made; below 0: not counted.
	countBefore int
	// first is the instance that several rules look at; nil: not made yet.
	first *instance
	// before are ids that were there when the run began.
	before map[string]bool
	// told are resources that were there when a rule failed: no other rule fails
	// because of them, but the last one, while they are there.
	told map[string]bool
}

func newBench(launcher Launcher, options Options) (*bench, error) {
	b := &bench{
		launcher: launcher, options: options.WithDefaults(), countBefore: -1,
		gone: map[string]bool{}, told: map[string]bool{},
	}
	b.free = slices.Clone(b.options.Assets)
	name, err := idText(b.options.Random, 10)
	if err != nil {
		return nil, err
	}
	b.installation = "kit-" + name
	if b.token, err = idText(b.options.Random, 40); err != nil {
		return nil, err
	}
	b.token = "kit-token-" + b.token
	b.secrets = []string{b.token}
	for what, content := range map[string]*[]byte{"provider": &b.options.Provider, "instance": &b.options.Instance} {
		if len(*content) == 0 {
			*content = []byte("{}")
		}
		var object map[string]any
		if err := json.Unmarshal(*content, &object); err != nil {
			return nil, fmt.Errorf("read the %s block: it is not a JSON object: %w", what, err)
		}
	}
	if b.options.Proxy == nil {
		return b, nil
	}
	if b.proxy, err = newFaultProxy(*b.options.Proxy); err != nil {
		return nil, err
	}
	b.options.Provider, err = b.options.Proxy.Provider(b.proxy.url)
	return b, err
}

// fresh is a plugin that was just started and isn't configured.
func (b *bench) fresh(ctx context.Context, offline bool) (Running, error) {
	if err := b.stop(); err != nil {
		return nil, err
	}
	running, err := b.launcher.Start(ctx, offline)
	if err != nil {
		return nil, err
	}
	b.running, b.configured = running, false
	return running, nil
}

// started is the plugin that runs, configured or not.
func (b *bench) started(ctx context.Context) (Running, error) {
	if b.running != nil {
		return b.running, nil
	}
	return b.fresh(ctx, false)
}

// ready is the configured plugin.
func (b *bench) ready(ctx context.Context) (providerpb.ProviderClient, error) {
	if b.cannotConfigure != "" {
		return nil, leftOut(b.cannotConfigure)
	}
	running, err := b.started(ctx)
	if err != nil {
		return nil, err
	}
	client := providerpb.NewProviderClient(running.Connection())
	if b.configured {
		return client, nil
	}
	if err := b.configure(ctx, client); err != nil {
		return nil, err
	}
	b.configured = true
	return client, nil
}

func (b *bench) configure(ctx context.Context, client providerpb.ProviderClient) error {
	ctx, cancel := context.WithTimeout(ctx, configureCall)
	defer cancel()
	response, err := client.Configure(ctx, &providerpb.ConfigureRequest{
		ProviderJson: b.options.Provider, Installation: b.installation, StateDir: b.options.StateDir,
	})
	if err != nil {
		return fmt.Errorf("configure it: %w", err)
	}
	for _, diagnostic := range response.GetDiagnostics() {
		if isError(diagnostic) {
			return fmt.Errorf("it refuses the provider block: %s", textOf(diagnostic))
		}
	}
	return nil
}

// stop ends the plugin that runs, and keeps what it said.
func (b *bench) stop() error {
	if b.running == nil {
		return nil
	}
	err := b.running.Stop()
	b.collect()
	return err
}

func (b *bench) kill() {
	if b.running != nil {
		b.running.Kill()
		b.collect()
	}
}

// collect forgets the plugin that has ended and keeps what it said.
func (b *bench) collect() {
	b.said = append(b.said, b.running.Said()...)
	b.running, b.configured = nil, false
}

func (b *bench) end() {
	_ = b.stop()
	if b.proxy != nil {
		b.proxy.close()
	}
}

// restart gives the next process, configured.
func (b *bench) restart(ctx context.Context) error {
	if err := b.stop(); err != nil {
		return err
	}
	_, err := b.ready(ctx)
	return err
}

// drain asks the running plugin to begin nothing new.
func (b *bench) drain(ctx context.Context) error {
	client, err := b.ready(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 2*drainDeadline)
	defer cancel()
	if _, err := client.Drain(ctx, &providerpb.DrainRequest{Deadline: durationpb.New(drainDeadline)}); err != nil {
		return fmt.Errorf("drain it: %w", err)
	}
	return nil
}

// pollEvery is how often a condition without a notification is checked.
const pollEvery = 20 * time.Millisecond

// errTooLong is the end of a wait whose condition never came true.
var errTooLong = errors.New("it took too long")

// until asks until the answer is yes or the limit is over, slower and slower so
// that a cloud's rate limit survives it.
func until(ctx context.Context, limit time.Duration, done func() (bool, error)) error {
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	for wait := pollEvery; ; wait = min(2*wait, 5*time.Second) {
		if yes, err := done(); yes || err != nil {
			return err
		}
		next := time.NewTimer(wait)
		select {
		case <-next.C:
		case <-deadline.C:
			next.Stop()
			return errTooLong
		case <-ctx.Done():
			next.Stop()
			return context.Cause(ctx)
		}
	}
}

// settle is how long a list may lag behind.
func (b *bench) settle() time.Duration { return b.info.GetListSettle().AsDuration() }

// covered hides the secrets in what is reported.
func (b *bench) covered(text string) string {
	for _, secret := range b.secrets {
		text = strings.ReplaceAll(text, secret, "(a secret)")
	}
	return text
}

func isError(d *providerpb.Diagnostic) bool {
	return d.GetSeverity() != providerpb.Diagnostic_SEVERITY_WARNING
}

func textOf(d *providerpb.Diagnostic) string {
	text := d.GetSummary()
	if path := pathText(d.GetPath()); path != "" {
		text = path + ": " + text
	}
	if d.GetDetail() != "" {
		text += ": " + d.GetDetail()
	}
	return text
}
