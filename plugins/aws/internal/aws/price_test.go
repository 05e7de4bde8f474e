package aws

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider"
	"github.com/forgeyard/forgeyard-fleet/plugins/aws/internal/ec2sim"
	"github.com/forgeyard/forgeyard-fleet/plugins/aws/internal/settings"
)

// offered is the first zone's offers of the types, by type and lifetime.
func offered(t *testing.T, p *cloud, change func(*settings.Instance), names ...string) map[string]provider.Offer {
	t.Helper()
	instance := block()
	instance.Types = names
	if change != nil {
		change(&instance)
	}
	list, err := p.Offers(t.Context(), instance)
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Offers) == 0 || time.Since(list.AsOf) < 0 {
		t.Fatalf("wanted offers as of now, got %+v", list)
	}
	found := map[string]provider.Offer{}
	for _, one := range list.Offers {
		found[one.MachineType+" "+one.Lifetime] = one
	}
	return found
}

func cost(p provider.Price) string {
	about := ""
	if p.Estimate {
		about = "about "
	}
	return fmt.Sprintf("%s%d %s", about, p.MicrosPerHour, p.Currency)
}

func TestAnOfferSaysWhatTheListAndTheSpotMarketOfItsZoneSay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, ec2sim.Options{LargestPage: 2})
		p := l.start(t)
		second := func(i *settings.Instance) { i.Subnets = []string{"subnet-0a000000000000002"} }
		here, there := offered(t, p, nil, "c7i.large", "g5.xlarge"), offered(t, p, second, "c7i.large", "g5.xlarge")
		for name, want := range map[string]string{
			"c7i.large stable": "89250 USD", "g5.xlarge stable": "1006000 USD",
			// Synthetic time begins at midnight: 0.34 of the list's in the first zone, 0.37 in the second.
			"c7i.large preemptible": "about 30345 USD", "g5.xlarge preemptible": "about 342040 USD",
		} {
			if got := cost(here[name].Price); got != want {
				t.Errorf("%s costs %s, wanted %s", name, got, want)
			}
		}
		if got, want := cost(there["c7i.large preemptible"].Price), "about 33022 USD"; got != want {
			t.Errorf("in the second zone it costs %s, wanted %s", got, want)
		}
		if one := here["c7i.large stable"]; one.BillingGrain != time.Second || one.MinimumCommitment != time.Minute {
			t.Errorf("it is paid by %s, for %s at least", one.BillingGrain, one.MinimumCommitment)
		}
		if lists, markets := l.Calls("GetProducts"), l.Calls("DescribeSpotPriceHistory"); lists != 2 || markets == 0 {
			t.Errorf("two blocks of the same types ask the list %d times and the market %d times", lists, markets)
		}
		asked := l.Calls("DescribeSpotPriceHistory")
		time.Sleep(time.Hour)
		later := offered(t, p, nil, "c7i.large", "g5.xlarge")
		if got, want := cost(later["c7i.large preemptible"].Price), "about 31238 USD"; got != want ||
			l.Calls("DescribeSpotPriceHistory") == asked {
			t.Errorf("an hour later it costs %s, wanted %s", got, want)
		}
		if l.Calls("GetProducts") != 2 {
			t.Error("the list is asked again after an hour")
		}
	})
}

func TestATypeThatTheListDoesNotNameHasNoPrice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, ec2sim.Options{})
		p := l.start(t)
		dedicated := func(i *settings.Instance) { i.Tenancy = "dedicated" } // the simulated list has none
		for range 2 {
			if got := offered(t, p, dedicated, "c7i.large")["c7i.large stable"].Price; got.Currency != "" ||
				got.MicrosPerHour != 0 {
				t.Errorf("it costs %s", cost(got))
			}
		}
		if calls := l.Calls("GetProducts"); calls != 1 {
			t.Errorf("the list is asked %d times for what it doesn't have", calls)
		}
	})
}

// Whatever becomes of the services that say what things cost and how many there may
// be, there are offers, soon, and a launch.
func TestServicesThatFailOrHangLeaveOffersWithoutWhatTheySay(t *testing.T) {
	for name, fault := range map[string]ec2sim.Fault{
		"they can't be reached": {},
		"they hang":             {Late: time.Hour},
		"they fail":             {Status: 500, Code: "InternalErrorException"},
		"they are throttled":    {Status: 400, Code: "ThrottlingException"},
		"they are forbidden":    {Status: 400, Code: "AccessDeniedException"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLab(t, ec2sim.Options{})
				var log bytes.Buffer
				p := l.startWith(t, settings.Config{}, slog.New(slog.NewTextHandler(&log, nil)))
				for _, operation := range []string{"GetProducts", "DescribeSpotPriceHistory", "GetServiceQuota"} {
					fault.Operation, fault.Count = operation, 1000
					l.Inject(fault)
				}
				begin := time.Now()
				instance := block()
				instance.Types = []string{"c7i.large", "m7i.large"}
				list, err := p.Offers(t.Context(), instance)
				if took := time.Since(begin); err != nil || len(list.Offers) != 4 || took > besides+time.Second {
					t.Fatalf("%d offers after %s, %v", len(list.Offers), took, err)
				}
				for _, one := range list.Offers {
					if one.Price.Currency != "" || one.Price.MicrosPerHour != 0 || one.Available != nil {
						t.Errorf("%+v has a price or says how many are left", one)
					}
				}
				calls := l.Calls("GetProducts") + l.Calls("DescribeSpotPriceHistory") + l.Calls("GetServiceQuota")
				if _, err := p.Offers(t.Context(), instance); err != nil ||
					l.Calls("GetProducts")+l.Calls("DescribeSpotPriceHistory")+l.Calls("GetServiceQuota") != calls {
					t.Errorf("the next block asks again at once, %v", err)
				}
				if !strings.Contains(log.String(), "price list can't be read") {
					t.Errorf("the log doesn't say it: %s", &log)
				}
				one := asked()
				one.Offers = list.Offers[:1]
				if _, err := p.Provision(t.Context(), one); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// One service after the other would give the last of them no time.
func TestAServiceThatHangsTakesNothingFromTheOthers(t *testing.T) {
	for _, c := range []struct {
		operation               string
		onDemand, spot, counted bool
	}{
		{"GetProducts", false, true, true},
		{"DescribeSpotPriceHistory", true, false, true},
		{"GetServiceQuota", true, true, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := newLab(t, ec2sim.Options{})
			p := l.start(t)
			l.Inject(ec2sim.Fault{Operation: c.operation, Late: time.Hour, Count: 1000})
			begin := time.Now()
			offers := offered(t, p, nil, "c7i.large")
			if took := time.Since(begin); took > besides+time.Second {
				t.Errorf("%s hangs, and the offers take %s", c.operation, took)
			}
			stable, preemptible := offers["c7i.large stable"], offers["c7i.large preemptible"]
			if (stable.Price.Currency != "") != c.onDemand || (preemptible.Price.Currency != "") != c.spot ||
				(stable.Available != nil) != c.counted {
				t.Errorf("%s hangs, and the offers are %+v and %+v", c.operation, stable, preemptible)
			}
		})
	}
}

func TestAPriceThatCannotBeRefreshedBecomesAnEstimateAndThenNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, ec2sim.Options{})
		p := l.start(t)
		offered(t, p, nil, "c7i.large")
		for _, operation := range []string{"GetProducts", "DescribeSpotPriceHistory"} {
			l.Inject(ec2sim.Fault{Operation: operation, Status: 500, Code: "InternalError", Count: 1000})
		}
		began := time.Now()
		for _, step := range []struct {
			after      time.Duration
			list, spot string
		}{
			{11 * time.Minute, "89250 USD", "about 30345 USD"},
			{61 * time.Minute, "89250 USD", "0 "},
			{13 * time.Hour, "about 89250 USD", "0 "},
			{8 * 24 * time.Hour, "0 ", "0 "},
		} {
			time.Sleep(step.after - time.Since(began))
			got := offered(t, p, nil, "c7i.large")
			if list, spot := cost(got["c7i.large stable"].Price), cost(got["c7i.large preemptible"].Price); list != step.list ||
				spot != step.spot {
				t.Errorf("after %s it costs %q and %q, wanted %q and %q", step.after, list, spot, step.list, step.spot)
			}
		}
	})
}

func TestARegionWithoutAPriceListHasNoPricesOnDemand(t *testing.T) {
	l := newLab(t, ec2sim.Options{Region: "us-gov-west-1"})
	made, err := l.surroundings().newCloud(t.Context(), settings.Config{Region: "us-gov-west-1", CallTimeout: time.Minute},
		provider.Environment{Installation: "test", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	list, err := made.(*cloud).Offers(t.Context(), block())
	if err != nil || l.Calls("GetProducts") > 0 {
		t.Fatalf("%v, and the list is asked %d times", err, l.Calls("GetProducts"))
	}
	for _, one := range list.Offers {
		if (one.Price.Currency == "") != (one.Lifetime == "stable") {
			t.Errorf("%s costs %s", one.Lifetime, cost(one.Price))
		}
	}
}

// What a quota leaves is counted over all that runs in the account.
func TestAnOfferSaysHowManyTheQuotaLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, ec2sim.Options{LargestPage: 1})
		p := l.start(t)
		l.SetQuota(ec2sim.StandardQuota, 8)
		l.SetQuota(ec2sim.StandardSpotQuota, 5)
		l.SetQuota(ec2sim.GraphicsQuota, 0)
		more(t, p, asked(), nil) // somebody's, of two cpus
		names := []string{"c7i.large", "c7i.xlarge", "g5.xlarge"}
		want := func(when string, numbers map[string]uint32) {
			t.Helper()
			for name, one := range offered(t, p, nil, names...) {
				number, known := numbers[name]
				if known && (one.Available == nil || *one.Available != number) ||
					!known && one.Available != nil && *one.Available < 1000 {
					t.Errorf("%s of %s are left %v, wanted %d", when, name, one.Available, number)
				}
			}
		}
		want("at first",
			map[string]uint32{"c7i.large stable": 3, "c7i.xlarge stable": 1, "c7i.large preemptible": 2,
				"c7i.xlarge preemptible": 1, "g5.xlarge stable": 0})
		one := asked()
		one.Offers = []provider.Offer{{Zone: "us-east-1a", MachineType: "c7i.large", Lifetime: "preemptible"}}
		made, err := p.Provision(t.Context(), one)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Minute)
		want("with a spot machine",
			map[string]uint32{"c7i.large stable": 3, "c7i.xlarge stable": 1, "c7i.large preemptible": 1,
				"c7i.xlarge preemptible": 0, "g5.xlarge stable": 0})
		if _, err := p.Terminate(t.Context(), provider.Ref{ID: made.ID, Key: key}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Minute)
		want("without it",
			map[string]uint32{"c7i.large stable": 3, "c7i.xlarge stable": 1, "c7i.large preemptible": 2,
				"c7i.xlarge preemptible": 1, "g5.xlarge stable": 0})
		if calls := l.Calls("GetServiceQuota"); calls != 4 {
			t.Errorf("%d questions for four quotas within the hour", calls)
		}
		reserved := func(i *settings.Instance) { i.Reservation = "cr-0123456789abcdef0" }
		if got := offered(t, p, reserved, names...)["g5.xlarge stable"].Available; got != nil {
			t.Errorf("a reservation has its room already, and %d are said to be left", *got)
		}
	})
}

func TestWhatCannotBeCountedIsNotSaidToBeUsedUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, ec2sim.Options{})
		p := l.start(t)
		l.SetQuota(ec2sim.StandardQuota, 0)
		l.Inject(ec2sim.Fault{Operation: "DescribeInstances", Status: 503, Code: "RequestLimitExceeded"})
		if got := offered(t, p, nil, "c7i.large")["c7i.large stable"].Available; got != nil {
			t.Errorf("counting failed, and %d are reported as left", *got)
		}
		time.Sleep(askAgain)
		if got := offered(t, p, nil, "c7i.large")["c7i.large stable"].Available; got == nil || *got != 0 {
			t.Errorf("then %v are left, wanted none", got)
		}
	})
}
