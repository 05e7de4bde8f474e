package fleet

import (
	"strings"
	"testing"
	"time"
)

func anOffer(change func(*Offer)) Offer {
	o := Offer{
		Zone:        "a",
		Region:      "eu",
		MachineType: "m7i.xlarge",
		Lifetime:    LifetimeStable,
		Price:       Money{Micros: 192000, Currency: "USD"},
	}
	change(&o)
	return o
}

func TestWhatIsImpossibleAboutAnOfferLeavesItOutWithTheReason(t *testing.T) {
	good := anOffer(func(*Offer) {})
	negative := int64(-1)
	for name, test := range map[string]struct {
		change func(*Offer)
		want   string
	}{
		"a negative price":        {func(o *Offer) { o.Price.Micros = -1 }, "its price is -1"},
		"a price beyond all":      {func(o *Offer) { o.Price.Micros = 1 << 62 }, "its price is 4611686018427387904"},
		"a price in nothing":      {func(o *Offer) { o.Price.Currency = "" }, "no currency"},
		"a currency that is none": {func(o *Offer) { o.Price.Currency = "$" }, `its currency "$"`},
		"an unknown lifetime":     {func(o *Offer) { o.Lifetime = "eternal" }, `its lifetime is "eternal"`},
		"no lifetime":             {func(o *Offer) { o.Lifetime = "" }, "its lifetime"},
		"a zone of many lines":    {func(o *Offer) { o.Zone = "a\nb" }, "its zone"},
		"a machine type too long": {func(o *Offer) { o.MachineType = strings.Repeat("m", 129) }, "its machine type"},
		"a processor of no class": {func(o *Offer) { o.Platform.Arch = "amd64" }, `"amd64" is none that a class can have`},
		"less than no cpu":        {func(o *Offer) { o.Resources.CPUMilli = -1 }, "resources.cpu_milli is -1"},
		"less than none left":     {func(o *Offer) { o.Available = &negative }, "-1 of it are left"},
		"a lease of a lifetime": {func(o *Offer) {
			o.MinimumCommitment = 100 * 365 * 24 * time.Hour
		}, "minimum commitment"},
		"one that is there twice": {func(*Offer) {}, "listed twice"},
	} {
		t.Run(name, func(t *testing.T) {
			kept, ignored, err := CheckOffers([]Offer{good, anOffer(test.change)})
			if err != nil || len(kept) != 1 || len(ignored) != 1 || !strings.HasPrefix(ignored[0], "offers[1]: ") ||
				!strings.Contains(ignored[0], test.want) {
				t.Errorf("kept %d, ignored %q, %v", len(kept), ignored, err)
			}
		})
	}
}

func TestAMarketThatCannotBeComparedOrHasNoEndIsRefusedWhole(t *testing.T) {
	euro := anOffer(func(o *Offer) { o.Zone, o.Price.Currency = "b", "EUR" })
	if _, _, err := CheckOffers(
		[]Offer{anOffer(func(*Offer) {}), euro},
	); err == nil ||
		!strings.Contains(err.Error(), "USD and in EUR") {
		t.Errorf("two currencies: %v", err)
	}
	if _, _, err := CheckOffers(
		make([]Offer, 100_000),
	); err == nil ||
		!strings.Contains(err.Error(), "100000 offers, and 1000 is the most") {
		t.Errorf("too many: %v", err)
	}
	_, ignored, err := CheckOffers(make([]Offer, 900))
	if err != nil || len(ignored) != 6 || ignored[5] != "895 more" {
		t.Errorf("what is told is bounded: %q, %v", ignored, err)
	}
}
