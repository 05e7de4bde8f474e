package config_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/forgeyard/forgeyard-fleet/core/config"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

const diffFleet = `
provider "cloud" "two" {
  region = "eu-2"
}

image "next" {
  digest    = "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
  bootstrap = "cloud-init"
  refs      = { cloud = "img-2" }
}

image "ubuntu-alias" {
  digest    = "sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae"
  bootstrap = "cloud-init"
  refs      = { cloud = "img-1" }
}

capacity_class "small" {
  trust = "standard"

  platform {
    os   = "linux"
    arch = "x86_64"
  }

  resources {
    cpu    = 0.5
    memory = "1GiB"
  }
}

fleet "x" {
  capacity_class = capacity_class.standard
  image          = image.ubuntu
  provider       = provider.cloud.main

  instance {
    types   = ["m1"]
    subnets = ["a"]
    shape   = { cores = 2 }

    disk {
      size = 1
    }
  }

  scaling {
    min  = 1
    max  = 2
  }

  timeouts {
    boot = "90s"
  }
}
`

func TestDiffOfAFleet(t *testing.T) {
	attribute := func(path, old, new string, replaces bool) config.AttributeChange {
		return config.AttributeChange{Path: path, Old: old, New: new, ReplacesInstances: replaces}
	}
	for name, one := range map[string]struct {
		from, to string
		want     []config.AttributeChange
	}{
		"more hosts": {"max  = 2", "max  = 20", []config.AttributeChange{attribute("scaling.max", "2", "20", false)}},
		"a mutable attribute keeps the instances": {`subnets = ["a"]`, `subnets = ["a", "b"]`,
			[]config.AttributeChange{attribute("instance.subnets", `["a"]`, `["a","b"]`, false)}},
		"an immutable attribute replaces them": {`types   = ["m1"]`, `types   = ["m2"]`,
			[]config.AttributeChange{attribute("instance.types", `["m1"]`, `["m2"]`, true)}},
		"so does one inside an object": {`cores = 2`, `cores = 4`,
			[]config.AttributeChange{attribute("instance.shape.cores", "2", "4", true)}},
		"but not its mutable neighbour": {`cores = 2`, "cores = 2, threads = 2",
			[]config.AttributeChange{attribute("instance.shape.threads", "1", "2", false)}},
		"and one inside a block": {"size = 1", "size = 2",
			[]config.AttributeChange{
				attribute("instance.disk", `[{"kind":"fast","size":1}]`, `[{"kind":"fast","size":2}]`, true)}},
		"another image": {"image.ubuntu\n", "image.next\n", []config.AttributeChange{
			attribute("image", `"ubuntu"`, `"next"`, true),
			attribute("image.digest", `"sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae"`,
				`"sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"`, true),
			attribute("image.ref", `"img-1"`, `"img-2"`, true)}},
		"another name for the same image": {"image.ubuntu\n", "image.ubuntu-alias\n", []config.AttributeChange{
			attribute("image", `"ubuntu"`, `"ubuntu-alias"`, false)}},
		"another class": {"capacity_class.standard\n", "capacity_class.small\n", []config.AttributeChange{
			attribute("capacity_class", `"standard"`, `"small"`, true),
			attribute("capacity_class.resources.cpu", "4", "0.5", true),
			attribute("capacity_class.resources.memory", `"16GiB"`, `"1GiB"`, true)}},
		"another provider": {"provider.cloud.main\n", "provider.cloud.two\n", []config.AttributeChange{
			attribute("provider", `"cloud.main"`, `"cloud.two"`, true)}},
		"a timeout": {`boot = "90s"`, `boot = "10m"`,
			[]config.AttributeChange{attribute("timeouts.boot", `"1m30s"`, `"10m"`, false)}},
		"a timeout back to its default": {`boot = "90s"`, ``,
			[]config.AttributeChange{attribute("timeouts.boot", `"1m30s"`, `"5m"`, false)}},
	} {
		t.Run(name, func(t *testing.T) {
			if !strings.Contains(diffFleet, one.from) {
				t.Fatalf("the file has no %q", one.from)
			}
			// The last place is the fleet's: images and classes stand before it.
			i := strings.LastIndex(diffFleet, one.from)
			changed := diffFleet[:i] + one.to + diffFleet[i+len(one.from):]
			if strings.HasSuffix(one.to, "\n") {
				changed = diffFleet[:i] + one.to + diffFleet[i+len(one.from):]
			}
			old := mustLoad(t, diffFleet, config.Variables{}).Definition
			new := mustLoad(t, changed, config.Variables{}).Definition
			replaces := slices.ContainsFunc(one.want, func(a config.AttributeChange) bool { return a.ReplacesInstances })
			want := []config.Change{
				{Action: config.Modify, Address: "fleet.x", Attributes: one.want, ReplacesInstances: replaces},
			}
			if difference := cmp.Diff(want, config.Diff(old, new)); difference != "" {
				t.Errorf("(-want +got):\n%s", difference)
			}
		})
	}
}

func TestDiffOfEqualDefinitionsIsEmpty(t *testing.T) {
	definition := mustLoad(t, diffFleet+"\nremoved {\n  from = fleet.gone\n}\n", config.Variables{}).Definition
	if got := config.Diff(definition, definition); len(got) != 0 {
		t.Errorf("got %+v", got)
	}
	// The store gives the definition back from JSON.
	text, err := json.Marshal(definition)
	if err != nil {
		t.Fatal(err)
	}
	var stored fleet.Definition
	if err := json.Unmarshal(text, &stored); err != nil {
		t.Fatal(err)
	}
	if got := config.Diff(stored, definition); len(got) != 0 {
		t.Errorf("after a round trip: %+v", got)
	}
	before, after := fleetNamed(t, definition, "x"), fleetNamed(t, stored, "x")
	if before.InstanceDigest() != after.InstanceDigest() || before.Class.ID() != after.Class.ID() {
		t.Error("a digest doesn't survive the store")
	}
}

func TestUnmentionedFleetIsDriftUnlessRemoved(t *testing.T) {
	old := mustLoad(t, diffFleet, config.Variables{}).Definition
	actions := func(text string) map[string]config.Action {
		result := map[string]config.Action{}
		for _, change := range config.Diff(old, mustLoad(t, text, config.Variables{}).Definition) {
			result[change.Address] = change.Action
		}
		return result
	}
	want := map[string]config.Action{"fleet.x": config.Drift, "provider.cloud.two": config.Drift}
	if difference := cmp.Diff(want, actions("")); difference != "" {
		t.Errorf("not mentioned:\n%s", difference)
	}
	want["fleet.x"] = config.Drain
	if difference := cmp.Diff(want, actions("removed {\n  from = fleet.x\n}\n")); difference != "" {
		t.Errorf("removed:\n%s", difference)
	}
}

func TestFirstDiffCreatesEverything(t *testing.T) {
	definition := mustLoad(t, "", config.Variables{}).Definition
	var got []string
	for _, change := range config.Diff(fleet.Definition{}, definition) {
		if change.Action != config.Create || change.ReplacesInstances {
			t.Errorf("%+v", change)
		}
		got = append(got, change.Address)
	}
	want := []string{
		"fleet.steady",
		"forgeyard",
		"plugin.bare",
		"plugin.cloud",
		"provider.bare.rack",
		"provider.cloud.main",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestLargeNumbersAreComparedExactly(t *testing.T) {
	with := func(n string) fleet.Definition {
		return mustLoad(t, strings.Replace(diffFleet, "cores = 2", "cores = "+n, 1), config.Variables{}).Definition
	}
	if got := config.Diff(
		with("9007199254740992"),
		with("9007199254740993"),
	); len(got) != 1 ||
		len(got[0].Attributes) != 1 {
		t.Errorf("got %+v", got)
	}
}

// A class is a block of its own, and what uses it is compared with what it says.
func TestDiffShowsTheClassOfAQueueAndAReservation(t *testing.T) {
	with := func(cpu int64) fleet.Definition {
		class := fleet.CapacityClass{Name: "small", Resources: fleet.ResourceCapacity{CPUMilli: cpu}}
		return fleet.Definition{
			Schedulers: []fleet.Scheduler{
				{Address: "forgeyard.ci", Queues: []fleet.SchedulerQueue{{Name: "q", Class: class}}},
			},
			Reservations: []fleet.CapacityReservation{{Name: "release", Class: class}},
		}
	}
	got := map[string]string{}
	for _, change := range config.Diff(with(1000), with(2000)) {
		for _, a := range change.Attributes {
			got[change.Address+" "+a.Path] = a.Old + " → " + a.New
		}
	}
	want := map[string]string{
		"scheduler.forgeyard.ci queue.q.capacity_class.resources.cpu": "1 → 2",
		"reservation.release capacity_class.resources.cpu":            "1 → 2",
	}
	if difference := cmp.Diff(want, got); difference != "" {
		t.Errorf("(-want +got):\n%s", difference)
	}
}

// What is true by default is a difference when it is false.
func TestDiffShowsABooleanThatBecomesFalse(t *testing.T) {
	forbidden := fleet.Definition{Policy: fleet.InstallationPolicy{NoGPU: true}}
	changes := config.Diff(fleet.Definition{}, forbidden)
	if len(changes) != 1 || len(changes[0].Attributes) != 1 || changes[0].Attributes[0].Path != "gpu" ||
		changes[0].Attributes[0].New != "false" {
		t.Errorf("got %+v", changes)
	}
}
