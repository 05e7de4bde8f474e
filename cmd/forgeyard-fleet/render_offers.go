package main

import (
	"fmt"

	"github.com/forgeyard/forgeyard-fleet/core/planner"
)

// How many offers of a fleet a command shows.
const (
	planOffers   = 3
	statusOffers = 3
	allOffers    = 1 << 30
)

// renderOffers shows what a fleet's next hosts could be made of: each offer with its
// price and, in words, whether it can be used now.
func (a *app) renderOffers(indent string, r *planner.OfferReport, most int) {
	if !r.Worth() {
		return
	}
	if r.Market {
		a.printf("%s%s\n", indent, a.offersAge(r))
	}
	shown := min(len(r.Considered), most)
	for _, c := range r.Considered[:shown] {
		a.printf("%s  %s%s: %s\n", indent, c.Label(), price(c), a.offerState(c))
	}
	if more := len(r.Considered) - shown + r.More; more > 0 {
		a.printf("%s  and %d more\n", indent, more)
	}
	for _, why := range r.Ignored {
		a.printf("%s  ! ignored offer: %s\n", indent, why)
	}
}

// offerState is whether an offer can be used, and why not.
func (a *app) offerState(c planner.OfferChoice) string {
	if c.State == planner.Usable {
		return "usable"
	}
	return c.Reason.TextAt(a.now())
}

// offersAge says how old the offers are, and why there are no newer ones.
func (a *app) offersAge(r *planner.OfferReport) string {
	if r.Of.IsZero() {
		if r.Failure != "" {
			return "offers unknown: " + r.Failure
		}
		return "offers not known yet"
	}
	text := fmt.Sprintf("offers from %s ago", a.ago(r.Of))
	switch {
	case r.Failure != "":
		text += ", not refreshed since: " + r.Failure
	case r.Outdated:
		text += ", outdated"
	}
	return text
}

// price is what an offer costs, marked where it is an estimate.
func price(c planner.OfferChoice) string {
	if c.Hourly.Currency == "" {
		return ""
	}
	about := ""
	if c.Estimate {
		about = "about "
	}
	return fmt.Sprintf(", %s%s/h", about, c.Hourly)
}
