package control

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/forgeyard/forgeyard-fleet/core/access"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// MostInstances bounds min and max as the file's are: a slip of the keyboard should
// not become a bill.
const MostInstances = 100_000

// scale holds an override against the file and against itself. It may go beyond
// the file's max [177]; scale to zero stays the file's to allow [17], and a
// protected fleet has the size of its file [18].
func (j *judgement) scale(d StandingOrder) (ruling, error) {
	f, err := j.fleet(d.Fleet)
	if err != nil {
		return ruling{}, err
	}
	o := fleet.FleetScaleOverride{Fleet: f.ID, Min: d.Min, Max: d.Max, Attribution: j.decided}
	if d.End {
		return ruling{order: o, subject: string(f.Address), done: "the file's min and max hold again"}, nil
	}
	if why := cantScale(f, o); why != "" {
		return ruling{}, access.Invalid("%s can't be scaled like that: %s", f.Address, why)
	}
	if o.Until, err = j.until(d.For); err != nil {
		return ruling{}, err
	}
	return ruling{order: o, subject: string(f.Address), until: o.Until,
		done: fmt.Sprintf("min = %d and max = %d until %s, then the file's %d and %d again", o.Least(f.Scaling.Min), o.Most(f.Scaling.Max), moment(o.Until), f.Scaling.Min, f.Scaling.Max)}, nil
}

// cantScale says why an override makes no sense; "": it does.
func cantScale(f fleet.ManagedFleet, o fleet.FleetScaleOverride) string {
	least, most := o.Least(f.Scaling.Min), o.Most(f.Scaling.Max)
	switch {
	case o.Min == nil && o.Max == nil:
		return "give a min, a max or both"
	case least < 0 || most < 0 || least > MostInstances || most > MostInstances:
		return fmt.Sprintf("min and max are from 0 to %d", MostInstances)
	case least > most && o.Min == nil:
		return fmt.Sprintf("max = %d is less than the file's min = %d; give a min, too", most, least)
	case least > most && o.Max == nil:
		return fmt.Sprintf("min = %d is more than the file's max = %d; give a max, too", least, most)
	case least > most:
		return fmt.Sprintf("min = %d is more than max = %d", least, most)
	case o.Min != nil && least == 0 && f.Scaling.Min > 0 && !f.Scaling.ScaleToZero:
		return "min = 0 needs scale_to_zero = true in its file; 1 is the least otherwise"
	case f.Protected:
		return "it is protected, and nothing but its file changes its size"
	case f.Joined:
		return "its hosts are joined by a person, and a number makes none"
	case f.Operational == fleet.FleetDraining:
		return "it is being removed"
	}
	return ""
}

// pin keeps an instance that is, or will soon be, a runner.
func (j *judgement) pin(i fleet.CapacityInstance, address fleet.FleetAddress, d StandingOrder) (ruling, error) {
	subject := fmt.Sprintf("instance %s of %s", i.ID, address)
	p := fleet.RunnerPin{Instance: i.ID, Fleet: i.Fleet, Attribution: j.decided}
	if d.End {
		return ruling{order: p, subject: subject, done: "it isn't pinned any more"}, nil
	}
	stays := i.State == fleet.Bootstrapping || i.State == fleet.Enrolling || i.State == fleet.Healthy
	if !stays || i.Unjoined() {
		return ruling{}, access.Conflict("%s is %s, and a pin keeps what boots or is healthy", subject, i.State)
	}
	var err error
	if p.Until, err = j.until(d.For); err != nil {
		return ruling{}, err
	}
	return ruling{order: p, subject: subject, until: p.Until,
		done: fmt.Sprintf("pinned until %s: no choice for a scale-down, max_age or a rollout; an operator's drain, a quarantine and the provider still take it", moment(p.Until))}, nil
}

func (j *judgement) freeze(d StandingOrder) (ruling, error) {
	z := fleet.Freeze{ScaleUpOnly: d.ScaleUpOnly, Attribution: j.decided}
	done := "frozen: nothing starts, drains or ends; inspections go on, and what was asked of a provider before is answered"
	if z.ScaleUpOnly {
		done = "instances start, and none leaves for want of work, age or a newer definition"
	}
	if d.End {
		done = "freeze cleared"
	}
	if d.Provider == "" {
		f, err := j.fleet(d.Fleet)
		z.Fleet = f.ID
		return ruling{order: z, subject: string(f.Address), done: done}, err
	}
	if d.Fleet != "" {
		return ruling{}, &access.InvalidError{Reason: "a fleet or a provider is frozen; give one of them"}
	}
	if err := j.unlimited("provider." + string(d.Provider)); err != nil {
		return ruling{}, err
	}
	var names []string
	for _, p := range j.state.Providers {
		names = append(names, string(p.Address))
	}
	if !slices.Contains(names, string(d.Provider)) && !d.End {
		return ruling{}, access.Invalid("there is no provider %q in what was applied (%s)", d.Provider, namesOr("there is none", names))
	}
	z.Provider = d.Provider
	return ruling{order: z, subject: "provider " + string(d.Provider), done: done}, nil
}

// released is what the end of a quarantine does.
const released = "released: what was quarantined leaves once no job is on it, and is made anew where it is still wanted"

func (j *judgement) quarantine(d StandingOrder) (ruling, error) {
	q := fleet.Quarantine{Attribution: j.decided}
	done := released
	if d.Image == "" {
		f, err := j.fleet(d.Fleet)
		if q.Fleet = f.ID; !d.End {
			done = "quarantined: its instances get no work, a job that runs goes on, and no new one starts"
		}
		return ruling{order: q, subject: string(f.Address), done: done}, err
	}
	if d.Fleet != "" {
		return ruling{}, &access.InvalidError{Reason: "a fleet, an instance or an image is quarantined; give one of them"}
	}
	if err := j.unlimited(d.Image); err != nil {
		return ruling{}, err
	}
	digest, err := j.image(d.Image)
	if q.Image = digest; !d.End {
		done = "quarantined: what was made from it gets no work, a job that runs goes on, and nothing new is made from it"
	}
	return ruling{order: q, subject: "image " + digest, done: done}, err
}

var imageDigest = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

// image is the declared digest that is meant: itself, or what image.NAME is called
// now. A name may be another image's tomorrow, so what is kept is the digest.
func (j *judgement) image(wanted string) (string, error) {
	if imageDigest.MatchString(wanted) {
		return wanted, nil
	}
	name, isName := strings.CutPrefix(wanted, "image.")
	var names, digests []string
	for _, f := range j.state.Fleets {
		if f.Image.Digest == "" {
			continue
		}
		if names = append(names, "image."+f.Image.Name); isName && f.Image.Name == name {
			digests = append(digests, f.Image.Digest)
		}
	}
	slices.Sort(digests)
	switch digests = slices.Compact(digests); len(digests) {
	case 0:
		if len(names) == 0 {
			return "", access.Invalid("no fleet has an image %q, and none has a digest of its image; give a digest (sha256:…)", wanted)
		}
		return "", access.Invalid("no fleet has an image %q; give a digest (sha256:…), or one of: %s", wanted, listed(names))
	case 1:
		return digests[0], nil
	}
	return "", access.Invalid("fleets have different images of the name %q; give the digest: %s", wanted, listed(digests))
}

func (j *judgement) quarantineInstance(i fleet.CapacityInstance, address fleet.FleetAddress, d StandingOrder) (ruling, error) {
	r := ruling{order: fleet.Quarantine{Instance: i.ID, Attribution: j.decided}, subject: fmt.Sprintf("instance %s of %s", i.ID, address), done: released}
	switch {
	case d.Fleet != "" || d.Image != "":
		return ruling{}, &access.InvalidError{Reason: "a fleet, an instance or an image is quarantined; give one of them"}
	case d.End:
	case i.State == fleet.Failed || i.State == fleet.Terminating || i.State == fleet.Terminated:
		return ruling{}, access.Conflict("%s is %s: it gets no work any more", r.subject, i.State)
	default:
		r.done = fmt.Sprintf("quarantined: it gets no work, a job that runs goes on; after timeouts.quarantine it is removed, and its job given up with forgeyard-fleet drain %s --force", i.ID)
	}
	return r, nil
}
