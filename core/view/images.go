package view

import (
	"cmp"
	"slices"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/planner"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
)

// ImageState is what an image is to the fleets. It is derived: from what fleets
// should boot, from what their instances were made from, and from what people
// decided. Building, scanning, signing and publishing it (spec §218) happens elsewhere.
type ImageState string

// The states, the most urgent first.
const (
	ImageQuarantined ImageState = "quarantined" // a person took it out of use (spec §135, §224)
	ImageHalted      ImageState = "halted"      // its rollout doesn't go on by itself
	ImageCanary      ImageState = "canary"      // its first instances show what it is worth (spec §66)
	ImageRolling     ImageState = "rolling"     // it replaces the old instances gradually (spec §66)
	ImageActive      ImageState = "active"      // its fleets boot it and nothing else (spec §222)
	ImageRolledBack  ImageState = "rolled_back" // the file asks for it, and a person went back (spec §223)
	ImageKnownGood   ImageState = "known_good"  // the one before, which a rollback boots (spec §223)
	ImageOld         ImageState = "old"         // instances of it are left
)

var imageUrgency = []ImageState{
	ImageQuarantined,
	ImageHalted,
	ImageCanary,
	ImageRolling,
	ImageActive,
	ImageRolledBack,
	ImageKnownGood,
	ImageOld,
}

// ImageReport is one image: what its fleets boot, or what their instances still run.
type ImageReport struct {
	// Name is what the file calls it, and may be another image's tomorrow (spec §221).
	Name string `json:"name,omitempty"`
	// Digest is the declared one; empty: the file says none.
	Digest    string     `json:"digest,omitempty"`
	Bootstrap string     `json:"bootstrap,omitempty"`
	State     ImageState `json:"state"`
	// Refs are what providers know it by, with the identity that it has there with
	// the agent of today (spec §59).
	Refs []ImageRef `json:"refs,omitempty"`
	// Fleets are those that it is something to.
	Fleets []ImageFleet `json:"fleets"`
	// Instances were made from it, and Others are those of the fleets that should
	// boot it which weren't.
	Instances int `json:"instances"`
	Others    int `json:"others"`
	// Quarantine is who took it out of use.
	Quarantine *fleet.Quarantine `json:"quarantine,omitempty"`
}

// ImageRef is an image at one provider.
type ImageRef struct {
	Provider fleet.ProviderAddress `json:"provider"`
	Ref      string                `json:"ref,omitempty"`
	ID       fleet.RunnerImageID   `json:"id"`
}

// ImageFleet is what an image is to one fleet.
type ImageFleet struct {
	Fleet fleet.FleetAddress `json:"fleet"`
	State ImageState         `json:"state"`
	// Instances of the fleet were made from it, Others weren't.
	Instances int `json:"instances"`
	Others    int `json:"others"`
	// Reason tells of a rollout or a rollback.
	Reason reason.Reason `json:"reason,omitzero"`
}

// Named says whether a word means the image: its name, with image. before it or
// without, or its digest.
func (i ImageReport) Named(word string) bool {
	return i.Digest != "" && i.Digest == word || i.Name != "" && (i.Name == word || "image."+i.Name == word)
}

// Images lists the images of the fleets that may be seen, by name and digest.
func Images(s snapshot.Snapshot, visible func(fleet.FleetAddress) bool) []ImageReport {
	b := imageBook{agent: s.AgentVersion, byKey: map[string]*ImageReport{}}
	plans := map[fleet.RunnerFleetID]planner.FleetPlan{}
	for _, p := range planner.Plan(s).Fleets {
		plans[p.Fleet] = p
	}
	members := membersByFleet(s)
	for _, declared := range s.Fleets {
		if visible(declared.Address) && !declared.Joined {
			b.enter(declared, s.Overrides.Apply(declared), s, plans[declared.ID], members[declared.ID])
		}
	}
	images := make([]ImageReport, 0, len(b.byKey))
	for _, i := range b.byKey {
		for n, q := range s.Overrides.Quarantines {
			if q.Image != "" && q.Image == i.Digest {
				i.State, i.Quarantine = ImageQuarantined, &s.Overrides.Quarantines[n]
			}
		}
		images = append(images, *i)
	}
	slices.SortFunc(images, func(a, b ImageReport) int {
		// Those that no one has a name for come last.
		return cmp.Or(cmp.Compare(cmp.Or(a.Name, "~"), cmp.Or(b.Name, "~")), cmp.Compare(a.Digest, b.Digest))
	})
	return images
}

// imageBook gathers what fleets say of images.
type imageBook struct {
	agent string
	byKey map[string]*ImageReport
}

// enter notes what images are to a fleet: declared is as its file has it, boots as
// it is with what people decided.
func (b imageBook) enter(
	declared, boots fleet.ManagedFleet,
	s snapshot.Snapshot,
	p planner.FleetPlan,
	members []member,
) {
	live, of := 0, map[string]int{}
	for _, i := range members {
		if i.Live() {
			live++
			of[i.ImageDigest]++
		}
	}
	note := func(image fleet.Image, state ImageState, why reason.Reason) {
		if image.Name == "" && image.Digest == "" {
			return
		}
		made := of[image.Digest]
		delete(of, image.Digest)
		b.note(
			boots,
			image,
			ImageFleet{Fleet: boots.Address, State: state, Instances: made, Others: live - made, Reason: why},
		)
	}
	state, why := ImageActive, reason.Reason{}
	if r := p.Rollout; r != nil {
		state, why =
			map[planner.RolloutStage]ImageState{planner.RolloutCanary: ImageCanary,
				planner.RolloutRolling: ImageRolling}[r.Stage], r.Reason
		if state == "" {
			state = ImageHalted
		}
	}
	note(boots.Image, state, why)
	if o, ordered := s.Overrides.Rollout(
		declared,
	); ordered && o.Action == fleet.RollBack &&
		!declared.Image.Same(boots.Image) {
		note(
			declared.Image,
			ImageRolledBack,
			reason.Of(reason.RolledBack{Decided: reason.Attribution{By: o.By, At: reason.At(o.At), Comment: o.Reason}}),
		)
	}
	known := s.Rollouts[boots.ID]
	for _, good := range known.Good {
		if !good.Image.Same(boots.Image) && !good.Image.Same(declared.Image) {
			note(good.Image, ImageKnownGood, reason.Reason{})
		}
	}
	for digest, n := range of {
		if digest != "" && n > 0 {
			note(fleet.Image{Digest: digest}, ImageOld, reason.Reason{})
		}
	}
}

// note adds what an image is to a fleet to what is known of it.
func (b imageBook) note(f fleet.ManagedFleet, image fleet.Image, in ImageFleet) {
	key := image.Digest
	if key == "" {
		key = image.Name + "@" + image.Ref
	}
	i := b.byKey[key]
	if i == nil {
		i = &ImageReport{Digest: image.Digest, State: in.State}
		b.byKey[key] = i
	}
	i.Name, i.Bootstrap = cmp.Or(i.Name, image.Name), cmp.Or(i.Bootstrap, image.Bootstrap)
	if image.Ref != "" &&
		!slices.ContainsFunc(i.Refs, func(r ImageRef) bool { return r.Provider == f.Provider && r.Ref == image.Ref }) {
		i.Refs = append(i.Refs, ImageRef{Provider: f.Provider, Ref: image.Ref, ID: image.ID(b.agent)})
	}
	if slices.Index(imageUrgency, in.State) < slices.Index(imageUrgency, i.State) {
		i.State = in.State
	}
	i.Fleets = append(i.Fleets, in)
	i.Instances += in.Instances
	if in.State != ImageKnownGood && in.State != ImageOld && in.State != ImageRolledBack {
		i.Others += in.Others
	}
}
