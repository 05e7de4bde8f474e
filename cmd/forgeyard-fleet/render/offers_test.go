package render

import (
	"bytes"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/planner"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
)

func TestOffersAreShownWithPriceAgeAndBreakerInWords(t *testing.T) {
	at := func(zone string, state planner.OfferState) planner.OfferChoice {
		return planner.OfferChoice{
			Offer:  fleet.Offer{Zone: zone, MachineType: "m7i.xlarge", Lifetime: fleet.LifetimePreemptible, Estimate: true},
			Hourly: fleet.Money{Micros: 78000, Currency: "USD"},
			State:  state,
			Reason: reason.Of(
				reason.OfferExhausted{
					Class:   "capacity",
					Since:   reason.At(noon.Add(-time.Minute)),
					NextTry: reason.At(noon.Add(3 * time.Minute)),
					Trying:  state == planner.Probed,
				},
			),
		}
	}
	usable := at("eu-central-1b", planner.Usable)
	usable.Reason = reason.Reason{}
	out := at("us-east-1a", planner.LeftOut)
	out.Reason, out.Hourly = reason.Of(
		reason.OfferPlaceDisallowed{Kind: "region", Place: "us-east-1", Allowed: reason.ListOf("eu-central-1")},
	), fleet.Money{}
	since := noon.Add(-time.Minute).UTC().Format("15:04 UTC")
	for name, test := range map[string]struct {
		report *planner.OfferReport
		most   int
		want   string
	}{
		"of a market": {
			&planner.OfferReport{Market: true, Of: noon.Add(-2 * time.Minute),
				Considered: []planner.OfferChoice{usable, at("eu-central-1a", planner.NoRoom), at("eu-central-1c", planner.Probed),
					out}, More: 2, Ignored: []string{"offers[7]: its price is -1"}}, allOffers,
			`offers from 2m0s ago
  eu-central-1b m7i.xlarge preemptible, about 0.078 USD/h: usable
  eu-central-1a m7i.xlarge preemptible, about 0.078 USD/h: no capacity since ` + since + `, next try in 3m
  eu-central-1c m7i.xlarge preemptible, about 0.078 USD/h: no capacity since ` + since + `, one request tries now
  us-east-1a m7i.xlarge preemptible: its region "us-east-1" is not among "eu-central-1"
  and 2 more
  ! ignored offer: offers[7]: its price is -1
`},
		"the first of many": {
			&planner.OfferReport{Market: true, Of: noon.Add(-time.Hour), Outdated: true, Failure: "503",
				Considered: []planner.OfferChoice{usable, usable}}, 1,
			"offers from 1h0m0s ago, not refreshed since: 503\n  eu-central-1b m7i.xlarge preemptible, about 0.078 USD/h: " +
				"usable\n  and 1 more\n"},
		"never answered":                    {&planner.OfferReport{Market: true, Failure: "503"}, 3, "offers unknown: 503\n"},
		"of a fleet's own block, with room": {&planner.OfferReport{Considered: []planner.OfferChoice{usable}}, 3, ""},
		"none known":                        {nil, 3, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			a := Page{Out: &out, Now: func() time.Time { return noon }}
			if a.offers("", test.report, test.most); out.String() != test.want {
				t.Errorf("it says\n%s\nwant\n%s", out.String(), test.want)
			}
		})
	}
}
