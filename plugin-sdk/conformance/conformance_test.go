package conformance_test

import (
	"context"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/conformance"
	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider"
	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider/providertest"
)

// password is a secret of the provider block.
const password = "correct horse battery"

// lab is a plugin on an account, with at most one fault.
func lab(f fault) (conformance.Launcher, conformance.Options) {
	account := newAccount()
	options := conformance.Options{
		Provider: []byte(`{"region": "here", "password": "` + password + `"}`), Instance: []byte(`{"size": 1}`),
		AllowCreate: true, OS: "linux", Arch: "x86_64", Patience: 2 * time.Second,
		Outage: func(context.Context) (func(context.Context) error, error) {
			account.setDown(true)
			return func(context.Context) error { account.setDown(false); return nil }, nil
		},
	}
	p := plugin{
		Name: "acme", Version: "1.0.0", Idempotency: provider.IdempotentByTag, Ownership: provider.OwnershipSigned,
		New: func(ctx context.Context, _ config, e provider.Environment) (provider.Provider[instance], error) {
			h := honest{account: account, installation: e.Installation, lifetime: ctx, work: 10 * time.Millisecond}
			if f.provider != nil {
				return f.provider(h), nil
			}
			return h, nil
		},
	}
	if f.hosts {
		options.Assets = []string{"a", "b", "c"}
		*account = *newAccount(options.Assets...)
		p.Idempotency, p.Ownership = provider.IdempotentByAsset, provider.OwnershipAssigned
	}
	if f.plugin != nil {
		f.plugin(&p)
	}
	if f.verdict != nil {
		verifying, evidence, err := signer()
		if err != nil {
			panic(err)
		}
		p.Identity, f.provider, options.Evidence = true, verifying, evidence
	}
	return providertest.Launcher(func(logs io.Writer) (provider.InProcess, error) {
		served, err := p.InProcess(logs)
		if err == nil && f.service != nil {
			served.Service = f.service(served.Service, account)
		}
		if err == nil && f.batches != nil {
			served.Batches = f.batches(served.Batches, account)
		}
		if err == nil && f.verdict != nil {
			served.Identity = verdict{served.Identity, f.verdict}
		}
		return served, err
	}), options
}

func verdicts(t *testing.T, launcher conformance.Launcher, options conformance.Options) map[string]conformance.Result {
	t.Helper()
	results := map[string]conformance.Result{}
	options.StateDir = t.TempDir()
	err := conformance.Run(t.Context(), launcher, options, func(r conformance.Result) { results[r.Rule] = r })
	if err != nil {
		t.Fatal(err)
	}
	return results
}

func TestAnHonestProviderKeepsEveryRule(t *testing.T) {
	for name, hosts := range map[string]bool{"of instances": false, "of an inventory": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			launcher, options := lab(fault{hosts: hosts})
			passed := 0
			for _, result := range verdicts(t, launcher, options) {
				if result.Verdict == conformance.Fail {
					t.Errorf("%s: %s", result.Rule, result.Reason)
				}
				if result.Verdict == conformance.Pass {
					passed++
				}
			}
			if passed < 22 {
				t.Errorf("only %d rules were checked", passed)
			}
		})
	}
}

// Each broken provider breaks one rule, and the kit reports only that one.
func TestEveryBrokenProviderFailsItsOwnRule(t *testing.T) {
	for _, f := range slices.Concat(faults, identityFaults, permissionsFaults) {
		t.Run(f.rule, func(t *testing.T) {
			t.Parallel()
			launcher, options := lab(f)
			results := verdicts(t, launcher, options)
			for _, rule := range conformance.Rules() {
				result := results[rule.Name]
				wanted := rule.Name == f.rule || f.leaves && rule.Name == "nothing-left"
				if failed := result.Verdict == conformance.Fail; failed != wanted {
					t.Errorf("where %s, the rule %s is %s: %s", f.wrong, rule.Name, result.Verdict, result.Reason)
				}
				if strings.Contains(result.Reason, password) {
					t.Errorf("the reason of %s repeats the password", rule.Name)
				}
			}
		})
	}
}

// A check that nothing fails would say nothing. Those that take a process are
// tried in cmd/forgeyard-fleet.
func TestEveryRuleIsBrokenByAProvider(t *testing.T) {
	for _, rule := range conformance.Rules() {
		broken := slices.ContainsFunc(slices.Concat(faults, identityFaults, permissionsFaults), func(f fault) bool {
			return f.rule == rule.Name
		}) ||
			slices.ContainsFunc(beginners, func(b beginner) bool { return b.rule == rule.Name }) ||
			slices.ContainsFunc(batchFaults, func(f batchFault) bool { return f.rule == rule.Name })
		if !broken && !rule.Process {
			t.Errorf("no broken provider fails the rule %s", rule.Name)
		}
	}
}

func TestWithoutAllowCreateReportListsSkippedRules(t *testing.T) {
	launcher, options := lab(
		fault{provider: provisioning(func(context.Context, honest, request) (provider.Resource, error) {
			t.Error("something is made")
			return provider.Resource{}, nil
		})})
	options.AllowCreate = false
	results := verdicts(t, launcher, options)
	for _, rule := range conformance.Rules() {
		if result := results[rule.Name]; rule.Creates &&
			(result.Verdict != conformance.Skip || !strings.Contains(result.Reason, "not allowed")) {
			t.Errorf("%s: %s, %q", rule.Name, result.Verdict, result.Reason)
		}
	}
}

func TestAKitThatIsGivenUpRemovesWhatItMade(t *testing.T) {
	account := newAccount()
	p := plugin{
		Name: "acme", Version: "1.0.0", Idempotency: provider.IdempotentByTag, Ownership: provider.OwnershipSigned,
		New: func(context.Context, config, provider.Environment) (provider.Provider[instance], error) {
			return honest{account: account}, nil
		},
	}
	_, options := lab(fault{})
	options.StateDir = t.TempDir()
	ctx, giveUp := context.WithCancel(t.Context())
	made := 0
	err := conformance.Run(ctx, providertest.Launcher(p.InProcess), options, func(r conformance.Result) {
		if r.Rule == "creates" {
			all, _ := account.list()
			made = len(all)
			giveUp()
		}
	})
	left, _ := account.list()
	if err == nil || made != 1 || len(left) != 0 {
		t.Errorf("%d were made, %d are left, and the kit says %v", made, len(left), err)
	}
}
