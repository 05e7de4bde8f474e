package executor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/failpoint"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/loop"
	"github.com/forgeyard/forgeyard-fleet/core/pluginhost"
)

// carryOut runs one effect to its one event. ctx ends when the manager doesn't
// wait for answers any longer.
func (e *Executor) carryOut(ctx context.Context, effect loop.Effect) {
	var answer loop.Event
	switch effect := effect.(type) {
	case loop.Inspect:
		answer = e.inspect(ctx, effect)
	case loop.Provision:
		answer = e.provision(ctx, effect)
	case loop.ProvisionBatch:
		answer = e.provisionBatch(ctx, effect)
	case loop.Terminate:
		answer = e.terminate(ctx, effect)
	case loop.ListOffers:
		answer = e.listOffers(ctx, effect)
	case loop.Observe:
		answer = e.observe(ctx, effect)
	case loop.CallScheduler:
		answer = e.tell(ctx, effect)
	default:
		// A new kind of effect without a case here would block its row for ever.
		panic(fmt.Sprintf("executor: no way to carry out %T", effect))
	}
	e.events <- answer
}

func (e *Executor) inspect(ctx context.Context, effect loop.Inspect) loop.Event {
	out := loop.Inspected{Provider: effect.Provider, Keys: effect.Keys, Began: e.settings.Clock()}
	p, err := e.settings.Provider(effect.Provider)
	if err != nil {
		out.Failure = failure(err)
		return out
	}
	limited, cancel := context.WithTimeout(ctx, e.settings.Deadlines.Inspect)
	defer cancel()
	out.Inspection, err = p.Inspect(limited, effect.Keys)
	inspection := subject{what: "the inspection", provider: effect.Provider}
	if err != nil {
		out.Failure = failure(err)
		e.failures.failed(
			slog.LevelWarn,
			inspection,
			string(out.Failure.Class),
			"an inspection failed; nothing is taken for gone",
			"error",
			err,
		)
	} else {
		e.failures.well(inspection)
	}
	late := err != nil && ctx.Err() == nil && errors.Is(limited.Err(), context.DeadlineExceeded)
	if e.inspections.ended(effect.Provider, p, late) {
		e.restart(effect.Provider, p)
	}
	return out
}

// restart has a hung process ended, unless another one serves already.
func (e *Executor) restart(provider fleet.ProviderAddress, hung Provider) {
	if now, err := e.settings.Provider(provider); err == nil && now == hung && e.settings.Hung != nil {
		e.settings.Hung(provider)
	}
}

func (e *Executor) provision(ctx context.Context, effect loop.Provision) loop.Event {
	return e.make(ctx, effect.Provider, e.request(effect))[0]
}

func (e *Executor) provisionBatch(ctx context.Context, effect loop.ProvisionBatch) loop.Event {
	var request pluginhost.ProvisionRequest
	for n, member := range effect.Members {
		one := e.request(member)
		if n == 0 {
			request = one
			request.Batch = effect.Key
			continue
		}
		request.Items = append(request.Items, one.Items...)
	}
	return loop.BatchAnswered{Answers: e.make(ctx, effect.Provider, request)}
}

// make makes one call and gives the answers in the order of its items.
func (e *Executor) make(
	ctx context.Context,
	provider fleet.ProviderAddress,
	request pluginhost.ProvisionRequest,
) []loop.ProvisionAnswered {
	answers := make([]loop.ProvisionAnswered, len(request.Items))
	places := make(map[fleet.OperationID]int, len(request.Items))
	for n, item := range request.Items {
		answers[n] = loop.ProvisionAnswered{Operation: item.Key, Outcome: fleet.ProvisionUnknown}
		places[item.Key] = n
	}
	p, err := e.settings.Provider(provider)
	if err != nil {
		for n := range answers {
			answers[n].Outcome, answers[n].Failure, answers[n].CallOver = fleet.ProvisionNotSent, failure(err), true
		}
		return answers
	}
	ctx, cancel := context.WithTimeout(ctx, e.settings.Deadlines.Provision)
	defer cancel()
	failpoint.ProvisionUnsent.Hit()
	err = p.Provision(ctx, request, func(a pluginhost.ProvisionAnswer) {
		out := &answers[places[a.Key]]
		out.Outcome, out.CallOver = a.Outcome, a.CallOver
		if a.Resource != nil {
			out.Resource = *a.Resource
		}
		if a.Err != nil {
			out.Failure = failure(a.Err)
		}
	})
	failpoint.ProvisionAnswered.Hit()
	for n := range answers {
		out := &answers[n]
		if out.Failure == nil && err != nil && out.Outcome == fleet.ProvisionUnknown {
			out.Failure = failure(err)
		}
		e.logAnswer("provision", provider, out.Operation, string(out.Outcome), out.Failure)
	}
	return answers
}

// request is the stored intent with its token: the same bytes at every attempt.
func (e *Executor) request(effect loop.Provision) pluginhost.ProvisionRequest {
	i := effect.Intent
	return pluginhost.ProvisionRequest{
		Fleet:          effect.Operation.Fleet,
		Address:        i.Fleet,
		Instance:       i.Instance,
		InstanceDigest: i.InstanceDigest,
		Image:          i.Image,
		Platform:       i.Platform,
		Offers:         i.Offers,
		Items: []pluginhost.ProvisionItem{{
			Key: effect.Operation.ID, Name: i.Name, Tags: i.Tags, Asset: i.Asset,
			Bootstrap: pluginhost.Bootstrap{BootstrapIntent: i.Bootstrap, Token: e.settings.Token(effect.Operation)},
		}},
	}
}

func (e *Executor) terminate(ctx context.Context, effect loop.Terminate) loop.Event {
	out := loop.TerminateAnswered{Operation: effect.Operation, Outcome: fleet.TerminateUnknown}
	p, err := e.settings.Provider(effect.Provider)
	if err != nil {
		out.Outcome, out.Failure = fleet.TerminateNotSent, failure(err)
		return out
	}
	ctx, cancel := context.WithTimeout(ctx, e.settings.Deadlines.Terminate)
	defer cancel()
	ref := pluginhost.TerminateRef{ID: effect.Resource, Key: effect.Key}
	failpoint.TerminateUnsent.Hit()
	err = p.Terminate(ctx, []pluginhost.TerminateRef{ref}, effect.Force, func(a pluginhost.TerminateAnswer) {
		out.Outcome = a.Outcome
		if a.Err != nil {
			out.Failure = failure(a.Err)
		}
	})
	if out.Failure == nil && err != nil {
		out.Failure = failure(err)
	}
	failpoint.TerminateAnswered.Hit()
	e.logAnswer("terminate", effect.Provider, effect.Key, string(out.Outcome), out.Failure)
	return out
}

func (e *Executor) listOffers(ctx context.Context, effect loop.ListOffers) loop.Event {
	out := loop.OffersListed{Market: effect.Market}
	provider := effect.Market.Provider
	p, err := e.settings.Provider(provider)
	if err != nil {
		out.Failure = failure(err)
		return out
	}
	ctx, cancel := context.WithTimeout(ctx, e.settings.Deadlines.Offers)
	defer cancel()
	listing := subject{what: "the list of offers", provider: provider}
	if out.List, err = p.Offers(ctx, effect.Instance); err != nil {
		out.Failure = failure(err)
		e.failures.failed(
			slog.LevelWarn,
			listing,
			string(out.Failure.Class),
			"offers could not be listed; those from before stay",
			"error",
			err,
		)
		return out
	}
	e.failures.well(listing)
	if len(out.List.Ignored) > 0 {
		e.failures.failed(
			slog.LevelWarn,
			subject{what: "a market's answer", provider: provider},
			"ignored",
			"some offers are left out of a market's answer",
			"ignored",
			out.List.Ignored,
		)
	}
	return out
}

// logAnswer logs every answer at level debug and a failure at a higher level. Many operations of a
// provider fail for one reason.
func (e *Executor) logAnswer(
	call string,
	provider fleet.ProviderAddress,
	key fleet.OperationID,
	outcome string,
	f *loop.Failure,
) {
	details := []any{"key", key, "outcome", outcome}
	calls := subject{what: call, provider: provider}
	if f == nil {
		e.settings.Log.Debug(call+" was answered", append(details, "provider", provider)...)
		e.failures.well(calls)
		return
	}
	details = append(details, "class", f.Class, "error", f.Message)
	e.settings.Log.Debug(call+" was answered", append(details, "provider", provider)...)
	e.failures.failed(slog.LevelWarn, calls, outcome+" "+string(f.Class), call+" failed", details...)
}

// failure carries a classified error on. What pluginhost didn't classify is
// transient: its outcome is unknown anyway.
func failure(err error) *loop.Failure {
	f := &loop.Failure{Class: fleet.ErrorTransient, Message: err.Error(), RetryAfter: time.Duration(0)}
	if call := (*pluginhost.CallError)(nil); errors.As(err, &call) {
		f.Class, f.Message, f.RetryAfter = call.Class, call.Message, call.RetryAfter
		f.Zone, f.MachineType, f.Scope = call.Zone, call.MachineType, call.Scope
	}
	return f
}
