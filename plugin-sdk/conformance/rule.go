package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Rule is one rule of the contract and the check of it.
type Rule struct {
	// Name is short and stays the same: "same-key-at-once".
	Name string
	// Says is the rule in one sentence.
	Says string
	// Creates says that the check makes something in the infrastructure.
	Creates bool
	// Process says that the check needs a plugin in a process of its own.
	Process bool

	check func(context.Context, *bench) error
}

// Rules are all rules, in the order in which they are checked: what creates
// nothing comes first, and what was said is read at the end.
func Rules() []Rule {
	var all []Rule
	for _, some := range [][]Rule{
		schemaRules, serviceRules, offlineRules, permissionsRules, attestationRules, identityRules, listRules, hostRules,
		marketRules, createRules, offerRules, batchRules, attestedRules, ownershipRules, foreignRules, interruptionRules,
		proxyRules,
		terminateRules,
		outputRules,
	} {
		all = append(all, some...)
	}
	return all
}

// Verdict is what became of a rule.
type Verdict string

// The verdicts.
const (
	Pass Verdict = "PASS"
	Fail Verdict = "FAIL"
	// Skip says that the rule was not checked, and Result.Reason why.
	Skip Verdict = "SKIP"
)

// Result is one rule's verdict.
type Result struct {
	Rule    string  `json:"rule"`
	Says    string  `json:"says"`
	Verdict Verdict `json:"verdict"`
	// Reason is what was found, or why nothing was checked; empty with Pass.
	Reason string `json:"reason,omitempty"`
	// Seconds is how long the check took.
	Seconds float64 `json:"seconds"`
	// Log is what the plugin logged meanwhile, with Fail; the last MaxLog lines of it.
	Log []string `json:"log,omitempty"`
}

// MaxLog is how many lines of a plugin's log a Result has at most.
const MaxLog = 20

// leftOut is why a check can't be made here.
type leftOut string

func (l leftOut) Error() string { return string(l) }

func skip(format string, arguments ...any) error { return leftOut(fmt.Sprintf(format, arguments...)) }

// Run checks every rule, one after the other, and tells each result as soon as
// it is known. The error says that the kit itself couldn't work, or was given up;
// what was created by then is removed as far as it can be.
func Run(ctx context.Context, launcher Launcher, options Options, told func(Result)) error {
	b, err := newBench(launcher, options)
	if err != nil {
		return err
	}
	defer b.end()
	rules, err := b.options.rules()
	if err != nil {
		return err
	}
	for _, rule := range rules {
		if ctx.Err() != nil {
			break
		}
		if b.options.Begun != nil {
			b.options.Begun(rule.Name)
		}
		began, before := time.Now(), b.logged()
		result := b.check(ctx, rule)
		result.Seconds = time.Since(began).Seconds()
		if result.Verdict == Fail {
			result.Log = b.loggedSince(before)
		}
		told(result)
	}
	if ctx.Err() != nil {
		// What exists costs money: it is removed even after the caller has given up.
		cleaning, cancel := context.WithTimeout(context.WithoutCancel(ctx), b.options.Patience)
		defer cancel()
		return errors.Join(fmt.Errorf("the kit was given up: %w", context.Cause(ctx)), b.removeAll(cleaning))
	}
	return nil
}

// rules are those to check, in their order, with those that the others need: what can't
// be described or configured is told by the rules about that.
func (o Options) rules() ([]Rule, error) {
	all := Rules()
	if len(o.Only) == 0 {
		return all, nil
	}
	wanted := map[string]bool{"schema-valid": true, "configures": true, "offers-good": true, "nothing-left": true}
	for _, name := range o.Only {
		if !slices.ContainsFunc(all, func(r Rule) bool { return r.Name == name }) {
			return nil, fmt.Errorf("there is no rule %q; docs/plugin-test.md lists them", name)
		}
		wanted[name] = true
	}
	return slices.DeleteFunc(all, func(r Rule) bool { return !wanted[r.Name] }), nil
}

// logged counts the lines that plugins of this run have logged.
func (b *bench) logged() int { return len(b.said) + len(b.saying()) }

// saying is what the plugin that runs has written.
func (b *bench) saying() []Line {
	if b.running == nil {
		return nil
	}
	return b.running.Said()
}

// loggedSince is the end of what was logged after a number of lines, without secrets.
func (b *bench) loggedSince(before int) []string {
	all := slices.Concat(b.said, b.saying())
	var log []string
	for _, line := range all[min(before, len(all)):] {
		if !line.Stdout && line.Text != "" {
			log = append(log, clip(b.covered(line.Text)))
		}
	}
	return log[max(0, len(log)-MaxLog):]
}

func (b *bench) check(ctx context.Context, rule Rule) Result {
	result := Result{Rule: rule.Name, Says: rule.Says, Verdict: Pass}
	err := b.mayCheck(rule)
	if err == nil {
		err = rule.check(ctx, b)
	}
	if reason, left := errors.AsType[leftOut](err); left {
		result.Verdict, result.Reason = Skip, string(reason)
	} else if err != nil {
		result.Verdict, result.Reason = Fail, b.covered(err.Error())
		if rule.Creates {
			b.putAside(ctx)
		}
	}
	return result
}

// putAside begins to remove what a failed rule left, so that the next one has an
// instance of its own and doesn't tell of the same fault.
func (b *bench) putAside(ctx context.Context) {
	if b.first != nil {
		b.tidy(ctx, b.first.item)
		b.first = nil
	}
	client, err := b.ready(ctx)
	if err != nil {
		return
	}
	seen, _ := inspect(ctx, client) // whatever of it there is
	for _, resource := range seen.resources {
		b.told[resource.GetKind()+" "+resource.GetId()] = true
	}
}

// mayCheck says why a rule can't be checked with what was given.
func (b *bench) mayCheck(rule Rule) error {
	switch {
	case rule.Process && !b.launcher.Processes():
		return skip("it takes a process of its own: forgeyard-fleet plugin test checks it")
	case rule.Creates && !b.options.AllowCreate:
		return skip("it creates instances, which was not allowed")
	case rule.Creates && b.cannotCreate != "":
		return skip("%s", b.cannotCreate)
	}
	return nil
}
