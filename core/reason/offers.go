package reason

import (
	"fmt"
	"strings"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/reason/text"
)

// OfferRefused is an offer that can't be used, and why.
type OfferRefused struct {
	Offer   string `json:"offer"`
	Because Reason `json:"because"`
}

// OffersUnknown: it isn't known what a fleet's instances could be made of.
type OffersUnknown struct {
	// Because is what went wrong; zero: the provider is being asked.
	Because Reason `json:"because,omitzero"`
}

// Text implements Detail.
func (d OffersUnknown) Text() string {
	if d.Because.IsZero() {
		return "the provider's offers are not known yet, it is being asked"
	}
	return "the provider's offers are not known: " + d.Because.Text()
}

// OffersEmpty: the provider has no offer for the fleet's instance block.
type OffersEmpty struct{}

// Text implements Detail.
func (OffersEmpty) Text() string { return "the provider has no offer for the instance block" }

// OffersUnsuitable: none of the provider's offers is for the fleet.
type OffersUnsuitable struct {
	Offers List[OfferRefused] `json:"offers"`
}

// Text implements Detail.
func (d OffersUnsuitable) Text() string {
	parts := d.Offers.parts(func(o OfferRefused) string { return o.Offer + ": " + o.Because.Text() })
	return fmt.Sprintf("%s unsuitable: %s", text.Plural(d.Offers.Len(), "offer"), strings.Join(parts, "; "))
}

// OffersExhausted: there is no capacity for any of the fleet's offers.
type OffersExhausted struct {
	Offers List[OfferRefused] `json:"offers"`
	// Trying says that one request tries now. Message is what the provider said last.
	Trying  bool   `json:"trying,omitempty"`
	Message string `json:"message,omitempty"`
}

// Text implements Detail.
func (d OffersExhausted) Text() string {
	parts := d.Offers.parts(func(o OfferRefused) string {
		if why, ok := As[OfferExhausted](o.Because); ok {
			return o.Offer + " (no " + why.Class + ")"
		}
		return o.Offer + " (" + o.Because.Text() + ")"
	})
	said := "no offer has capacity: " + strings.Join(parts, ", ")
	switch {
	case d.Trying:
		return said + "; one request tries now"
	case d.Message != "":
		return said + "; last error: " + text.Clause(d.Message)
	}
	return said
}

// OfferExhausted: the provider had no capacity, or no quota, for an offer.
type OfferExhausted struct {
	// Class is capacity or quota.
	Class string `json:"class"`
	// Since is when that began, and NextTry when one request may try again; left out:
	// one may now. Trying says that one does.
	Since   Instant `json:"since,omitempty"`
	NextTry Instant `json:"next_try,omitempty"`
	Trying  bool    `json:"trying,omitempty"`
}

// Text implements Detail.
func (d OfferExhausted) Text() string { return d.TextAt(time.Time{}) }

// TextAt says how long it is until the next try.
func (d OfferExhausted) TextAt(now time.Time) string {
	said := "no " + d.Class
	if since := d.Since.Time(); !since.IsZero() {
		if now.Sub(since) > 12*time.Hour || now.IsZero() {
			said += " since " + text.Moment(since)
		} else {
			said += " since " + text.Clock(since)
		}
	}
	switch {
	case d.Trying:
		return said + ", one request tries now"
	case d.NextTry == 0:
		return said + ", one request may try now"
	case now.IsZero():
		return said + ", next try at " + d.NextTry.Time().Format("15:04:05 UTC")
	}
	return said + ", next try in " + text.In(d.NextTry.Time(), now)
}

// OfferLifetimeDiffers: an offer's lifetime isn't the fleet's.
type OfferLifetimeDiffers struct {
	Offer    string `json:"offer"`
	Required string `json:"required"`
}

// Text implements Detail.
func (d OfferLifetimeDiffers) Text() string {
	return fmt.Sprintf("the offer is %s, and the fleet is %s", d.Offer, d.Required)
}

// OfferPlaceDisallowed: an offer is in a region or zone where the fleet may not be.
type OfferPlaceDisallowed struct {
	// Kind is region or zone.
	Kind    string       `json:"kind"`
	Place   string       `json:"place"`
	Allowed List[string] `json:"allowed"`
}

// Text implements Detail.
func (d OfferPlaceDisallowed) Text() string {
	return fmt.Sprintf("its %s %s is not among %s", d.Kind, text.Quote(d.Place), quoted(d.Allowed))
}

// OfferPlatformDiffers: an offer has another operating system or processor than the class.
type OfferPlatformDiffers struct {
	// Kind is os or arch.
	Kind     string `json:"kind"`
	Offer    string `json:"offer"`
	Required string `json:"required"`
}

// Text implements Detail.
func (d OfferPlatformDiffers) Text() string {
	return fmt.Sprintf("its %s is %s, and the class requires %s", d.Kind, d.Offer, d.Required)
}

// OfferUnpriced: an offer has no price, and the fleet's costs are limited.
type OfferUnpriced struct{}

// Text implements Detail.
func (OfferUnpriced) Text() string {
	return "it has no price, and the fleet's costs are limited; set hourly in the cost block"
}

// OfferCurrencyDiffers: an offer's price is in another currency than the fleet's costs.
type OfferCurrencyDiffers struct {
	Offer    string `json:"offer"`
	Required string `json:"required"`
}

// Text implements Detail.
func (d OfferCurrencyDiffers) Text() string {
	return fmt.Sprintf("its price is in %s, and the fleet's costs are in %s", d.Offer, d.Required)
}

// OfferSoldOut: the provider lists that nothing of an offer is left.
type OfferSoldOut struct{}

// Text implements Detail.
func (OfferSoldOut) Text() string { return "sold out" }

// OfferUnavailable: the provider says why an offer can't be had now.
type OfferUnavailable struct {
	Message string `json:"message"`
}

// Text implements Detail.
func (d OfferUnavailable) Text() string { return "unavailable: " + d.Message }

// OfferTooSmall: an offer has less of a resource than the class.
type OfferTooSmall struct {
	Resource string `json:"resource"`
	Has      int64  `json:"has"`
	Required int64  `json:"required"`
}

// Text implements Detail.
func (d OfferTooSmall) Text() string {
	return fmt.Sprintf("it has %s, and the class requires %s", Resource{d.Resource, d.Has}.text(),
		Resource{d.Resource, d.Required}.text())
}

// OfferUneven: an offer would make a required spread uneven.
type OfferUneven struct {
	Here      int `json:"here"`
	Elsewhere int `json:"elsewhere"`
}

// Text implements Detail.
func (d OfferUneven) Text() string {
	return fmt.Sprintf("a spread is required, and there are %d instances here and %d elsewhere", d.Here, d.Elsewhere)
}

var exampleExhausted = Of(OfferExhausted{Class: "capacity", Since: exampleInstant,
	NextTry: exampleInstant + 180_000_000_000})

var offerReasons = []Detail{
	OffersUnknown{},
	OffersEmpty{},
	OffersUnsuitable{ListOf(OfferRefused{"eu-central-1a m7i.large stable", Of(OfferTooSmall{"cpu", 2000, 4000})})},
	OffersExhausted{Offers: ListOf(OfferRefused{"eu-central-1a m7i.xlarge stable", exampleExhausted}),
		Message: "InsufficientInstanceCapacity"},
	exampleExhausted.Params,
	OfferLifetimeDiffers{"preemptible", "stable"},
	OfferPlaceDisallowed{"region", "us-east-1", ListOf("eu-central-1")},
	OfferPlatformDiffers{"arch", "arm64", "amd64"},
	OfferUnpriced{},
	OfferCurrencyDiffers{"USD", "EUR"},
	OfferSoldOut{},
	OfferUnavailable{"the placement group is full"},
	OfferTooSmall{"cpu", 2000, 4000},
	OfferUneven{3, 1},
}
