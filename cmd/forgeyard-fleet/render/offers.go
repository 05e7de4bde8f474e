package render

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

// offers shows what a fleet's next hosts could be made of: each offer with its
// price and, in words, whether it can be used now.
func (page Page) offers(indent string, r *planner.OfferReport, most int) {
	if !r.Worth() {
		return
	}
	if r.Market {
		page.Printf("%s%s\n", indent, page.offersAge(r))
	}
	shown := min(len(r.Considered), most)
	for _, c := range r.Considered[:shown] {
		page.Printf("%s  %s%s: %s\n", indent, c.Label(), price(c), page.offerState(c))
	}
	if more := len(r.Considered) - shown + r.More; more > 0 {
		page.Printf("%s  and %d more\n", indent, more)
	}
	for _, why := range r.Ignored {
		page.Printf("%s  ! ignored offer: %s\n", indent, why)
	}
}

// offerState is whether an offer can be used, and why not.
func (page Page) offerState(c planner.OfferChoice) string {
	if c.State == planner.Usable {
		return "usable"
	}
	return c.Reason.TextAt(page.Now())
}

// offersAge says how old the offers are, and why there are no newer ones.
func (page Page) offersAge(r *planner.OfferReport) string {
	if r.Of.IsZero() {
		if r.Failure != "" {
			return "offers unknown: " + r.Failure
		}
		return "offers not known yet"
	}
	text := fmt.Sprintf("offers from %s ago", page.ago(r.Of))
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
