package fleet

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strings"
	"time"
)

// Offer is one way to make an instance, with its price (spec §105). Zone, machine type
// and lifetime name it.
type Offer struct {
	Zone        string        `json:"zone,omitempty"`
	Region      string        `json:"region,omitempty"`
	MachineType string        `json:"machine_type,omitempty"`
	Lifetime    LifetimeClass `json:"lifetime,omitempty"`
	// Platform is what such an instance can run; a field that is empty isn't said.
	Platform  Platform         `json:"platform,omitzero"`
	Resources ResourceCapacity `json:"resources,omitzero"`
	Price     Money            `json:"price,omitzero"`
	// Estimate marks a price that isn't a promise (spot, a static table).
	Estimate          bool          `json:"estimate,omitempty"`
	BillingGrain      time.Duration `json:"billing_grain,omitempty"`
	MinimumCommitment time.Duration `json:"minimum_commitment,omitempty"`
	// Available is the stock or the quota that is left; nil: it isn't known.
	Available *int64 `json:"available,omitempty"`
	// Unavailable is why it can't be had now, as the market says; "": it can.
	Unavailable string `json:"unavailable,omitempty"`
	// Scope is what it shares with other offers beyond zone and machine type.
	Scope string `json:"scope,omitempty"`
	// Tax says whether value added tax is in the price, PriceParts what it is made of.
	Tax        PriceTax    `json:"tax,omitempty"`
	PriceParts []PricePart `json:"price_parts,omitempty"`
	// MonthlyCap is the most that a calendar month costs; zero: there is no cap.
	MonthlyCap Money `json:"monthly_cap,omitzero"`
}

// PriceTax says whether value added tax is in a price; "": it isn't said.
type PriceTax string

// The kinds of price.
const (
	PriceNet   PriceTax = "net"
	PriceGross PriceTax = "gross"
)

// PricePart is a part of an hourly price: "machine", "address", "disk" or the plugin's
// own word.
type PricePart struct {
	Name   string `json:"name"`
	Micros int64  `json:"micros"`
}

// Name is the offer for people: "eu-central-1a m7i.xlarge preemptible".
func (o Offer) Name() string {
	return strings.Join(strings.Fields(cmp.Or(o.Zone, o.Region)+" "+o.MachineType+" "+string(o.Lifetime)), " ")
}

// Label is Name, and for an offer of which only the lifetime is known "any stable host".
func (o Offer) Label() string {
	if o.Zone == "" && o.MachineType == "" && o.Region == "" {
		return "any " + string(o.Lifetime) + " host"
	}
	return o.Name()
}

// Same says that two offers are of one zone, machine type and lifetime.
func (o Offer) Same(other Offer) bool {
	return o.Zone == other.Zone && o.MachineType == other.MachineType && o.Lifetime == other.Lifetime
}

// OfferList is what a provider's market said of one instance block.
type OfferList struct {
	Offers []Offer `json:"offers"`
	// AsOf is when the market's data is from, as it says; zero: from Read.
	AsOf time.Time `json:"as_of,omitzero"`
	// Read is when the manager read them; zero: never.
	Read time.Time `json:"read,omitzero"`
	// Ignored says what of the answer is left out, and why.
	Ignored []string `json:"ignored,omitempty"`
	// Failure is why the last refresh failed; "": it didn't.
	Failure string `json:"failure,omitempty"`
	// FailureClass is the class of that error; "": it didn't fail.
	FailureClass ErrorClass `json:"failure_class,omitempty"`
	// Next is when the market is asked again.
	Next time.Time `json:"next,omitzero"`
}

// Of is when the offers are from.
func (l OfferList) Of() time.Time {
	if l.AsOf.IsZero() || l.AsOf.After(l.Read) {
		return l.Read
	}
	return l.AsOf
}

// MarketKey says what offers were asked for: a provider, and the digest of an
// instance block. Fleets with equal blocks share an answer.
type MarketKey struct {
	Provider ProviderAddress
	Instance string
}

// MarketKey is of the offers for the fleet's instances.
func (f RunnerFleet) MarketKey() MarketKey {
	return MarketKey{Provider: f.Provider, Instance: DigestBytes(f.Instance)}
}

// Bounds of a market's answer.
const (
	// MaxOffers bounds the offers of one answer. One with more is refused whole:
	// which of them to leave out isn't the manager's to guess.
	MaxOffers = 1000
	// maxHourlyMicros bounds a price: a million units of its currency in an hour.
	maxHourlyMicros = 1_000_000 * 1_000_000
	// maxMonthlyMicros bounds a monthly cap: what the dearest hour costs in 31 days.
	maxMonthlyMicros = maxHourlyMicros * 24 * 31
	// maxPriceParts bounds the parts of a price.
	maxPriceParts = 16
	// maxCommitment bounds billing grains and minimum commitments.
	maxCommitment = 366 * 24 * time.Hour
	// ignoredShown is how many ignored offers are told one by one.
	ignoredShown = 5
)

var (
	offerWord     = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:/+-]{0,127}$`)
	offerCurrency = regexp.MustCompile(`^[A-Z]{3}$`)
)

// CheckOffers reads a market's answer. What is impossible about one offer leaves
// that one out, with the reason; an answer that can't be compared or is too long
// is refused whole.
func CheckOffers(offers []Offer) (good []Offer, ignored []string, err error) {
	if len(offers) > MaxOffers {
		return nil, nil, fmt.Errorf(
			"it lists %d offers, and %d is the most that is read; let the instance block narrow them",
			len(offers),
			MaxOffers,
		)
	}
	type name struct {
		zone, machineType string
		lifetime          LifetimeClass
	}
	seen := make(map[name]bool, len(offers))
	currency, tax, left := "", PriceTax(""), 0
	for n, o := range offers {
		why := o.impossible()
		if id := (name{o.Zone, o.MachineType, o.Lifetime}); why == "" {
			if seen[id] {
				why = "its zone, machine type and lifetime are listed twice"
			}
			seen[id] = true
		}
		if why != "" {
			if left++; left <= ignoredShown {
				ignored = append(ignored, fmt.Sprintf("offers[%d]: %s", n, why))
			}
			continue
		}
		if o.Price.Currency != "" {
			if currency != "" && o.Price.Currency != currency {
				return nil, nil, fmt.Errorf(
					"it has prices in %s and in %s, and nothing converts between currencies",
					currency,
					o.Price.Currency,
				)
			}
			currency = o.Price.Currency
		}
		if o.Tax != "" {
			if tax != "" && o.Tax != tax {
				return nil, nil, errors.New("it has net and gross prices, which can't be compared")
			}
			tax = o.Tax
		}
		good = append(good, o)
	}
	if left > ignoredShown {
		ignored = append(ignored, fmt.Sprintf("%d more", left-ignoredShown))
	}
	return good, ignored, nil
}

// impossible says why an offer can't be one; "": it can.
func (o Offer) impossible() string {
	for _, word := range []struct{ name, value string }{
		{"zone", o.Zone}, {"region", o.Region}, {"machine type", o.MachineType}, {"scope", o.Scope},
	} {
		if word.value != "" && !offerWord.MatchString(word.value) {
			return fmt.Sprintf("its %s %.40q is not a valid name", word.name, word.value)
		}
	}
	if o.Lifetime != LifetimeStable && o.Lifetime != LifetimePreemptible {
		return fmt.Sprintf("its lifetime is %.40q, and must be %q or %q", o.Lifetime, LifetimeStable, LifetimePreemptible)
	}
	if !o.Platform.maybe() {
		return fmt.Sprintf("its platform %.20q with %.20q is none that a class can have", o.Platform.OS, o.Platform.Arch)
	}
	switch p := o.Price; {
	case p.Currency == "" && p.Micros != 0:
		return "its price has no currency"
	case p.Currency != "" && !offerCurrency.MatchString(p.Currency):
		return fmt.Sprintf("its currency %.20q is none: three capital letters", p.Currency)
	case p.Micros < 0 || p.Micros > maxHourlyMicros:
		return fmt.Sprintf("its price is %d millionths an hour; it must be from 0 to %d", p.Micros, int64(maxHourlyMicros))
	case o.MonthlyCap.Micros < 0 || o.MonthlyCap.Micros > maxMonthlyMicros:
		return fmt.Sprintf("its monthly cap is %d millionths; it must be from 0 to %d",
			o.MonthlyCap.Micros, int64(maxMonthlyMicros))
	}
	if why := o.wrongParts(); why != "" {
		return why
	}
	for _, d := range []time.Duration{o.BillingGrain, o.MinimumCommitment} {
		if d < 0 || d > maxCommitment {
			return fmt.Sprintf("its billing grain or minimum commitment is %s; it must be from 0 to %s", d, maxCommitment)
		}
	}
	if o.Available != nil && (*o.Available < 0 || *o.Available > math.MaxUint32) {
		return fmt.Sprintf("%d of it are left", *o.Available)
	}
	if err := o.Resources.checkDemand(); err != nil {
		return err.Error()
	}
	return ""
}

// wrongParts says what is wrong with the parts of the price; "": nothing. Parts have
// names, aren't negative and add up.
func (o Offer) wrongParts() string {
	if len(o.PriceParts) == 0 {
		return ""
	}
	if len(o.PriceParts) > maxPriceParts {
		return fmt.Sprintf("its price has %d parts, and %d is the most", len(o.PriceParts), maxPriceParts)
	}
	rest := o.Price.Micros
	for _, part := range o.PriceParts {
		if !offerWord.MatchString(part.Name) || part.Micros < 0 {
			return fmt.Sprintf("the part %.40q of its price needs a name and an amount that isn't negative", part.Name)
		}
		if rest -= part.Micros; rest < 0 {
			break
		}
	}
	if rest != 0 {
		return fmt.Sprintf("the parts of its price don't add up to it: they differ by %d millionths", -rest)
	}
	return ""
}
