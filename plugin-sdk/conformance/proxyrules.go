package conformance

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"google.golang.org/grpc/status"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/providerpb"
)

var proxyRules = []Rule{
	{
		Name: "lost-answer-unknown", check: lostAnswerUnknown, Creates: true,
		Says: "A create that is carried out and whose answer is lost, or is a 502 in its place, isn't called " +
			"NOT_CREATED, and the same request again makes one instance.",
	},
	{
		Name: "list-errors-told", check: listErrorsTold, Creates: true,
		Says: "Inspect ends in an error whichever of the requests of a list fails.",
	},
	{
		Name: "rate-limit-told", check: rateLimitTold,
		Says: "Inspect that the infrastructure throttles ends in RATE_LIMIT with the wait that it asks for.",
	},
}

func (b *bench) proxied() error {
	if b.proxy == nil {
		return skip("no proxy is described, so the infrastructure's answers can't be disturbed")
	}
	return nil
}

// losses are the ways in which a create that is carried out ends for the plugin.
var losses = []struct {
	happened string
	disturbance
}{
	{"the answer to its create was lost", disturbance{cut: true}},
	{"its create was carried out and answered with 502 by something in between",
		disturbance{status: http.StatusBadGateway, carriedOut: true}},
}

// lostAnswerUnknown lets the infrastructure carry out a create and keeps its answer from the
// plugin.
func lostAnswerUnknown(ctx context.Context, b *bench) error {
	if err := b.proxied(); err != nil {
		return err
	}
	for _, loss := range losses {
		if err := lost(ctx, b, loss.happened, loss.disturbance); err != nil {
			return err
		}
	}
	return nil
}

func lost(ctx context.Context, b *bench, happened string, loss disturbance) error {
	client, err := b.ready(ctx)
	if err != nil {
		return err
	}
	item, err := b.newItem()
	if err != nil {
		return err
	}
	defer b.tidy(ctx, item)
	b.proxy.set(func(number int, mutates bool) disturbance {
		if mutates && number == 1 {
			return loss
		}
		return disturbance{}
	})
	answers, err := b.provision(ctx, client, item)
	_, writes := b.proxy.counted()
	b.proxy.set(nil)
	if err != nil {
		return err
	}
	if writes == 0 {
		return skip("it makes an instance without a request that changes something")
	}
	answer := answers[item.GetKey()]
	if answer.GetOutcome() == providerpb.ProvisionResponse_OUTCOME_NOT_CREATED {
		return fmt.Errorf("%s, and it says %s: only what was refused for certain is NotCreated; return a plain error where "+
			"the infrastructure didn't answer for itself", happened, said(answer))
	}
	if _, err := b.conclude(ctx, item); err != nil {
		return err
	}
	if b.repeatable() == nil {
		if _, err := b.provision(ctx, client, item); err != nil {
			return err
		}
	}
	if err := b.exactlyOne(ctx, item); err != nil {
		return fmt.Errorf("%s, and the same request came again: %w; turn off the retries of the client library for "+
			"requests that create, and look for the key first", happened, err)
	}
	return nil
}

// listErrorsTold lets every request of an inspection fail, one after the other, where there
// is more than fits a page.
func listErrorsTold(ctx context.Context, b *bench) error {
	if err := b.proxied(); err != nil {
		return err
	}
	client, err := b.ready(ctx)
	if err != nil {
		return err
	}
	items, err := b.several(ctx, client)
	defer b.tidy(ctx, items...)
	if err != nil {
		return err
	}
	b.proxy.set(nil)
	whole, err := inspect(ctx, client)
	if err != nil {
		return err
	}
	reads, writes := b.proxy.counted()
	defer b.proxy.set(nil)
	for failing := 1; failing <= reads+writes; failing++ {
		count := 0
		b.proxy.set(func(int, bool) disturbance {
			if count++; count >= failing {
				return disturbance{status: http.StatusInternalServerError}
			}
			return disturbance{}
		})
		seen, err := inspect(ctx, client)
		if err == nil && count >= failing && len(seen.resources) < len(whole.resources) {
			return fmt.Errorf("where request %d of %d of a list fails it gives a complete list of %d resources, and there "+
				"are %d: yield every error", failing, reads+writes, len(seen.resources), len(whole.resources))
		}
	}
	return nil
}

// throttle is how long the proxy asks to be left alone.
const throttle = 7 * time.Second

func rateLimitTold(ctx context.Context, b *bench) error {
	if err := b.proxied(); err != nil {
		return err
	}
	client, err := b.ready(ctx)
	if err != nil {
		return err
	}
	b.proxy.set(func(number int, _ bool) disturbance {
		return disturbance{status: http.StatusTooManyRequests, retryAfter: throttle}
	})
	defer b.proxy.set(nil)
	_, err = inspect(ctx, client)
	if reads, writes := b.proxy.counted(); reads+writes == 0 {
		return skip("a list makes no request")
	}
	if err == nil {
		return fmt.Errorf("while every request is answered with 429 it gives a complete list")
	}
	told := detailOf(err)
	if told.GetClass() != providerpb.Error_CLASS_RATE_LIMIT || told.GetRetryAfter().AsDuration() != throttle {
		return fmt.Errorf("the infrastructure answers 429 with Retry-After %s, and Inspect ends in %v with retry_after %s: "+
			"give the error the class RateLimit and RetryAfter", throttle, told.GetClass(), told.GetRetryAfter().AsDuration())
	}
	return nil
}

// detailOf is the contract's error within what ended a call; nil: it has none.
func detailOf(err error) *providerpb.Error {
	for ; err != nil; err = errors.Unwrap(err) {
		for _, detail := range status.Convert(err).Details() {
			if told, ok := detail.(*providerpb.Error); ok {
				return told
			}
		}
	}
	return nil
}
