package aws

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider"
	"github.com/forgeyard/forgeyard-fleet/plugins/aws/internal/ec2sim"
)

func TestOffersAreWhereTheTypeIsAndWithWhatItHas(t *testing.T) {
	l := newLab(t, ec2sim.Options{LargestPage: 1})
	p := l.start(t)
	instance := block()
	instance.Types = []string{"g5.12xlarge", "c7i.xlarge", "c7g.xlarge"}
	instance.Subnets = []string{"subnet-0a000000000000003", subnet}
	list, err := p.Offers(t.Context(), instance)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, o := range list.Offers {
		got = append(got,
			fmt.Sprintf("%s %s %s %s %d %dGiB %v", o.Zone, o.MachineType, o.Lifetime, o.Platform.Arch, o.Resources.CPUMilli,
				o.Resources.MemoryBytes>>30, o.Resources.Named))
	}
	// The last zone has no graphics.
	want := []string{
		"us-east-1c c7i.xlarge stable x86_64 4000 8GiB map[]", "us-east-1c c7i.xlarge preemptible x86_64 4000 8GiB map[]",
		"us-east-1c c7g.xlarge stable arm64 4000 8GiB map[]", "us-east-1c c7g.xlarge preemptible arm64 4000 8GiB map[]",
		"us-east-1a g5.12xlarge stable x86_64 48000 192GiB map[gpu/a10g:4]",
		"us-east-1a g5.12xlarge preemptible x86_64 48000 192GiB map[gpu/a10g:4]",
		"us-east-1a c7i.xlarge stable x86_64 4000 8GiB map[]", "us-east-1a c7i.xlarge preemptible x86_64 4000 8GiB map[]",
		"us-east-1a c7g.xlarge stable arm64 4000 8GiB map[]", "us-east-1a c7g.xlarge preemptible arm64 4000 8GiB map[]",
	}
	if !slices.Equal(got, want) {
		t.Fatalf("got\n%s\nwanted\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestEveryOfferMakesAMachineAsItSays(t *testing.T) {
	l := newLab(t, ec2sim.Options{})
	p := l.start(t)
	one := asked()
	one.Instance.Subnets = []string{subnet, "subnet-0a000000000000002"}
	list, err := p.Offers(t.Context(), one.Instance)
	if err != nil {
		t.Fatal(err)
	}
	for n, offer := range list.Offers {
		one.Key, one.Offers = fmt.Sprintf("01jx000000000000000000010%d", n), []provider.Offer{offer}
		made, err := p.Provision(t.Context(), one)
		if err != nil {
			t.Fatal(err)
		}
		if made.Zone != offer.Zone || made.MachineType != offer.MachineType {
			t.Errorf("the offer of %s in %s made %s in %s", offer.MachineType, offer.Zone, made.MachineType, made.Zone)
		}
	}
}

func TestATypeThatIsInNoneOfTheZonesIsAFaultOfTheBlock(t *testing.T) {
	l := newLab(t, ec2sim.Options{})
	instance := block()
	instance.Types, instance.Subnets = []string{"g5.xlarge"}, []string{"subnet-0a000000000000003"}
	if _, err := l.start(t).Offers(t.Context(), instance); err == nil || classOf(err) != provider.Invalid ||
		!strings.Contains(err.Error(), "us-east-1c") {
		t.Fatalf("wanted a complaint that names the zone, got %v", err)
	}
}

func TestWhatAProcessorRunsIsSaidInTheWordsOfAClass(t *testing.T) {
	for _, c := range []struct {
		architectures []string
		want          provider.Platform
	}{
		{[]string{"x86_64"}, provider.Platform{Arch: "x86_64"}},
		{[]string{"i386", "x86_64"}, provider.Platform{Arch: "x86_64"}},
		{[]string{"arm64"}, provider.Platform{Arch: "arm64"}},
		{[]string{"arm64_mac"}, provider.Platform{OS: "darwin", Arch: "arm64"}},
		{[]string{"x86_64_mac"}, provider.Platform{OS: "darwin", Arch: "x86_64"}},
		{[]string{"i386"}, provider.Platform{}},
		{nil, provider.Platform{}},
	} {
		if got := platformOf(c.architectures...); got != c.want {
			t.Errorf("%v runs %+v, wanted %+v", c.architectures, got, c.want)
		}
	}
}

func TestImageOfOtherPlatformIsRefused(t *testing.T) {
	l := newLab(t, ec2sim.Options{})
	p := l.start(t)
	for _, c := range []struct {
		image string
		of    provider.Platform
		says  string // empty: it is made
	}{
		{image, provider.Platform{OS: "linux", Arch: "arm64"},
			image + " is of linux on x86_64, and the fleet's class of linux on arm64"},
		{image, provider.Platform{OS: "windows", Arch: "x86_64"}, "the fleet's class of windows on x86_64"},
		{"ami-0a000000000000003", provider.Platform{OS: "linux", Arch: "arm64"}, "is of darwin on arm64"},
		{image, provider.Platform{OS: "linux", Arch: "x86_64"}, ""},
	} {
		one := asked()
		one.Image, one.Platform = c.image, c.of
		_, err := p.Provision(t.Context(), one)
		switch {
		case c.says == "" && err != nil:
			t.Errorf("%s for %v: %v", c.image, c.of, err)
		case c.says != "" &&
			(!provider.IsNotCreated(err) || classOf(err) != provider.Invalid || !strings.Contains(err.Error(), c.says)):
			t.Errorf("%s for %v: wanted a complaint that says %q, got %v", c.image, c.of, c.says, err)
		}
	}
	if calls := l.Calls("RunInstances"); calls != 1 {
		t.Errorf("%d launches", calls)
	}
}
