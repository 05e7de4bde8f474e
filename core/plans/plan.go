package plans

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/config"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/planner"
	"github.com/forgeyard/forgeyard-fleet/core/pluginstore"
	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
	"github.com/forgeyard/forgeyard-fleet/core/store"
	"github.com/forgeyard/forgeyard-fleet/core/workspace"
)

// Plan is what applying a file would do: the definition that it would store
// and, as a forecast, what the loop would do next.
type Plan struct {
	Installation string `json:"installation"`
	// Serial is of the stored definition that the plan was made from; 0: none.
	Serial int64 `json:"serial"`
	// Changes is the difference between the stored definition and the file.
	Changes []config.Change `json:"changes"`
	// Preview is what the planner would do with the new definition now.
	Preview planner.Output `json:"preview"`
	// Unresolved counts operations whose outcome is unknown.
	Unresolved int `json:"unresolved"`

	// Definition is the digest of what the files say.
	Definition string `json:"definition"`
	// Unrecorded is what providers have that no live instance accounts for, where a
	// manager runs and sees it. It isn't a change.
	Unrecorded []fleet.UnrecordedResource `json:"unrecorded,omitempty"`

	// Accounts says what the credentials of each provider reach, as a running manager
	// found it, or else as it was when the provider's newest live instance was made.
	Accounts map[fleet.ProviderAddress]string `json:"accounts,omitempty"`

	// Approval is what of this must still be true when it is applied.
	Approval Approval `json:"approval"`
	// Warnings are what is odd about the files.
	Warnings config.Diagnostics `json:"warnings,omitempty"`

	definition fleet.Definition
	rows       []fleet.ManagedFleet
	// reimaged are the fleets whose image the apply changes.
	reimaged []fleet.RunnerFleetID
}

// Manager is where agents will reach the manager.
func (p Plan) Manager() fleet.ManagerSettings { return p.definition.Manager }

// HasChanges says that applying would change the definition, or replace or
// remove named instances. Capacity on its way to its desired number is none.
func (p Plan) HasChanges() bool {
	for _, c := range p.Changes {
		if c.Action != config.Drift {
			return true
		}
	}
	for _, f := range p.Preview.Fleets {
		// A fleet that follows demand comes and goes with it, whatever the file says.
		if len(f.Drifted) > 0 || len(f.Actions) > 0 && !f.Follows {
			return true
		}
	}
	return false
}

// planInput is everything that a plan depends on.
type planInput struct {
	file   fleet.Definition
	lock   pluginstore.Lock
	prune  bool
	stored store.AppliedDefinition
	newID  func(time.Time) (string, error)
	// Snapshot is what is known before the plan.
	snapshot.Snapshot
}

// makePlan compares the file with what is stored. What the file no longer
// mentions stays as it was last applied, with the provider and plugin that it
// needs; a removed block drains a fleet.
func makePlan(in planInput) (Plan, error) {
	p := Plan{
		Installation: in.file.Installation,
		Serial:       in.stored.Serial,
		Changes:      config.Diff(in.stored.Definition, in.file),
		Definition:   fleet.Digest(in.file),
	}
	bound := boundFleets(in)
	removed := p.removals(in)
	p.definition = keep(in, removed, bound)
	lock, err := keepLock(in, p.definition)
	if err != nil {
		return Plan{}, err
	}
	p.definition.Lock = string(lock.Bytes())
	p.noteBinaries(in, lock)
	all, err := p.bind(in, bound, removed)
	if err != nil {
		return Plan{}, err
	}
	p.preview(in, all)
	p.noteAccounts(in)
	p.approve(in, bound)
	return p, nil
}

// boundFleets are the stored fleets by the address that they have in the file: a moved
// block takes a fleet's id along.
func boundFleets(in planInput) map[fleet.FleetAddress]fleet.ManagedFleet {
	bound := map[fleet.FleetAddress]fleet.ManagedFleet{}
	for _, f := range in.State.Fleets {
		bound[f.Address] = f
	}
	for _, move := range in.file.MovesFrom(in.stored.Definition) {
		if row, there := bound[move.From]; there {
			delete(bound, move.From)
			bound[move.To] = row
		}
	}
	return bound
}

// bind gives each fleet of the plan's definition its stored row, or a new one, and
// notes the rows that change. It returns all fleets as they will be.
func (p *Plan) bind(
	in planInput,
	bound map[fleet.FleetAddress]fleet.ManagedFleet,
	removed map[fleet.FleetAddress]bool,
) (map[fleet.FleetAddress]fleet.ManagedFleet, error) {
	all := map[fleet.FleetAddress]fleet.ManagedFleet{}
	for _, f := range p.definition.Fleets {
		row, known := bound[f.Address]
		if known && row.Operational != fleet.FleetDraining && same(row.RunnerFleet, f) {
			all[f.Address] = row
			continue
		}
		if known && !row.Image.Same(f.Image) {
			p.reimaged = append(p.reimaged, row.ID)
		}
		row.RunnerFleet = f
		if !known {
			id, err := in.newID(in.Now)
			if err != nil {
				return nil, fmt.Errorf("make an id for %s: %w", f.Address, err)
			}
			row.ID, row.Operational = fleet.RunnerFleetID(id), fleet.FleetActive
		}
		if row.Operational == fleet.FleetDraining {
			row.Operational = fleet.FleetActive // declared again before it was gone
		}
		all[f.Address] = row
		p.rows = append(p.rows, row)
	}
	for address, row := range bound {
		if _, declared := all[address]; declared {
			continue
		}
		if removed[address] && row.Operational != fleet.FleetDraining {
			row.Operational = fleet.FleetDraining
			p.rows = append(p.rows, row)
		}
		all[address] = row
	}
	slices.SortFunc(p.rows, func(a, b fleet.ManagedFleet) int { return cmp.Compare(a.Address, b.Address) })
	return all, nil
}

// noteAccounts says in which accounts the plan's providers act.
func (p *Plan) noteAccounts(in planInput) {
	known, made := map[fleet.ProviderAddress]string{}, map[fleet.ProviderAddress]time.Time{}
	for _, i := range in.State.Instances {
		if i.Live() && i.Account != "" && !i.Created.Before(made[i.Provider]) {
			known[i.Provider], made[i.Provider] = i.Account, i.Created
		}
	}
	maps.Copy(known, in.Accounts)
	p.Accounts = map[fleet.ProviderAddress]string{}
	for _, provider := range p.definition.Providers {
		if account := known[provider.Address]; account != "" {
			p.Accounts[provider.Address] = account
		}
	}
}

// removals are the fleets that leave: by a removed block, or, if asked for,
// because the files don't mention them.
func (p *Plan) removals(in planInput) map[fleet.FleetAddress]bool {
	removed := map[fleet.FleetAddress]bool{}
	for _, a := range in.file.Removed {
		removed[a] = true
	}
	for n, c := range p.Changes {
		if a := fleet.FleetAddress(
			c.Address,
		); in.prune && c.Action == config.Drift &&
			strings.HasPrefix(c.Address, "fleet.") {
			removed[a] = true
			p.Changes[n].Action = config.Drain
		}
	}
	return removed
}

// approve notes what the plan rests on: the serials of the fleets that it
// touches, and digests of what else it replaces.
func (p *Plan) approve(in planInput, bound map[fleet.FleetAddress]fleet.ManagedFleet) {
	p.Approval = Approval{
		Serial: in.stored.Serial, Format: Format, Lock: fleet.DigestBytes([]byte(in.stored.Definition.Lock)),
		Settings: settingsDigest(in.stored.Definition), Fleets: map[fleet.FleetAddress]int64{},
	}
	for _, row := range p.rows {
		p.Approval.Fleets[row.Address] = bound[row.Address].Serial
	}
}

// settingsDigest is of everything in a definition but its fleets and lock.
func settingsDigest(d fleet.Definition) string {
	d.Fleets, d.Removed, d.Lock = nil, nil, ""
	return fleet.Digest(d)
}

// keepLock is the submitted lock with the binaries of the plugins that only
// fleets from before still need.
func keepLock(in planInput, d fleet.Definition) (pluginstore.Lock, error) {
	lock := in.lock
	stored, err := workspace.LockOf(in.stored.Definition.Lock)
	if err != nil {
		return lock, fmt.Errorf("read the plugin lock that was applied last: %w", err)
	}
	for _, provider := range d.Providers {
		if _, there := lock.Plugin(provider.Address.Plugin()); there {
			continue
		}
		if old, there := stored.Plugin(provider.Address.Plugin()); there {
			lock = lock.With(old)
		}
	}
	return lock, nil
}

// noteBinaries adds the plugins whose binary for this machine changes.
func (p *Plan) noteBinaries(in planInput, lock pluginstore.Lock) {
	stored, err := workspace.LockOf(in.stored.Definition.Lock)
	if err != nil || in.stored.Serial == 0 {
		return
	}
	for _, plugin := range lock.Plugins {
		old, there := stored.Plugin(plugin.Name)
		if !there || old.Binaries[workspace.Platform] == plugin.Binaries[workspace.Platform] {
			continue
		}
		change := config.AttributeChange{
			Path: "binary",
			Old:  old.Version + " " + short(old.Binaries[workspace.Platform]),
			New:  plugin.Version + " " + short(plugin.Binaries[workspace.Platform]),
		}
		address := "plugin." + plugin.Name
		if n := slices.IndexFunc(p.Changes, func(c config.Change) bool { return c.Address == address }); n >= 0 {
			p.Changes[n].Attributes = append(p.Changes[n].Attributes, change)
			continue
		}
		p.Changes = append(
			p.Changes,
			config.Change{Action: config.Modify, Address: address, Attributes: []config.AttributeChange{change}},
		)
	}
	slices.SortStableFunc(p.Changes, func(a, b config.Change) int { return cmp.Compare(a.Address, b.Address) })
}

// short is enough of a digest to tell it from another.
func short(digest string) string { return digest[:min(len(digest), len("sha256:")+12)] }

// preview runs the planner on the state as the plan would leave it.
func (p *Plan) preview(in planInput, fleets map[fleet.FleetAddress]fleet.ManagedFleet) {
	planned := in.Snapshot
	planned.Fleets, planned.Providers, planned.Reservations = nil, p.definition.Providers, p.definition.Reservations
	planned.Policy = p.definition.Policy
	for _, f := range fleets {
		planned.Fleets = append(planned.Fleets, f)
	}
	// What holds a fleet now doesn't hold the one that the plan makes of it.
	planned.Holds = maps.Clone(in.Holds)
	for _, f := range fleets {
		if hold := in.Holds[f.ID]; p.changes(f) || !hold.Until.IsZero() && p.changesUnder(f) {
			delete(planned.Holds, f.ID)
		}
	}
	p.Preview = planner.Plan(planned)
	for _, op := range in.Operations {
		if op.State == fleet.OperationUnknown {
			p.Unresolved++
		}
	}
}

// changes says that the fleet itself is changed.
func (p *Plan) changes(f fleet.ManagedFleet) bool {
	return slices.ContainsFunc(p.Changes, func(c config.Change) bool { return c.Address == string(f.Address) })
}

// changesUnder says that what the fleet's hosts come from, and join by, is changed.
func (p *Plan) changesUnder(f fleet.ManagedFleet) bool {
	return slices.ContainsFunc(p.Changes, func(c config.Change) bool {
		return c.Address == "forgeyard" || c.Address == "provider."+string(f.Provider) ||
			c.Address == "plugin."+f.Provider.Plugin()
	})
}

// keep adds to a file's definition what must not be lost: the fleets that it
// doesn't mention, and the providers, with their plugins, of all fleets and
// instances that still have a row.
func keep(
	in planInput,
	removed map[fleet.FleetAddress]bool,
	bound map[fleet.FleetAddress]fleet.ManagedFleet,
) fleet.Definition {
	d, stored := in.file, in.stored.Definition
	d.Fleets, d.Providers, d.Plugins = slices.Clone(d.Fleets), slices.Clone(d.Providers), slices.Clone(d.Plugins)
	mentioned := make(map[fleet.FleetAddress]bool, len(d.Fleets))
	for _, f := range d.Fleets {
		mentioned[f.Address] = true
	}
	for _, f := range stored.Fleets {
		if _, lives := bound[f.Address]; lives && !mentioned[f.Address] && !removed[f.Address] {
			d.Fleets = append(d.Fleets, f)
		}
	}
	needed := map[fleet.ProviderAddress]bool{}
	for _, row := range bound {
		needed[row.Provider] = true
	}
	for _, i := range in.State.Instances {
		needed[i.Provider] = true
	}
	for _, p := range stored.Providers {
		there := slices.ContainsFunc(d.Providers, func(o fleet.Provider) bool { return o.Address == p.Address })
		if !there && needed[p.Address] {
			d.Providers = append(d.Providers, p)
			d.Plugins = withPlugin(d.Plugins, stored.Plugins, p.Address.Plugin())
		}
	}
	told := map[fleet.SchedulerAddress]bool{}
	for _, row := range bound {
		told[row.Scheduler] = true
	}
	for _, i := range slices.Concat(in.State.Instances, in.State.Departing) {
		told[i.Scheduling.Scheduler] = told[i.Scheduling.Scheduler] || i.Scheduling.Told()
	}
	for _, s := range stored.Schedulers {
		there := slices.ContainsFunc(d.Schedulers, func(o fleet.Scheduler) bool { return o.Address == s.Address })
		asked := slices.ContainsFunc(d.Fleets, func(f fleet.RunnerFleet) bool { return f.Scheduler == s.Address })
		if !there && (asked || told[s.Address]) {
			d.Schedulers = append(slices.Clone(d.Schedulers), s)
		}
	}
	slices.SortFunc(d.Schedulers, func(a, b fleet.Scheduler) int { return cmp.Compare(a.Address, b.Address) })
	slices.SortFunc(d.Fleets, func(a, b fleet.RunnerFleet) int { return cmp.Compare(a.Address, b.Address) })
	slices.SortFunc(d.Providers, func(a, b fleet.Provider) int { return cmp.Compare(a.Address, b.Address) })
	slices.SortFunc(d.Plugins, func(a, b fleet.PluginRequirement) int { return cmp.Compare(a.Name, b.Name) })
	return d
}

func withPlugin(have, stored []fleet.PluginRequirement, name string) []fleet.PluginRequirement {
	named := func(r fleet.PluginRequirement) bool { return r.Name == name }
	if slices.ContainsFunc(have, named) {
		return have
	}
	if n := slices.IndexFunc(stored, named); n >= 0 {
		return append(have, stored[n])
	}
	return have
}

// same says whether two fleets are declared alike.
func same(a, b fleet.RunnerFleet) bool {
	x, errX := json.Marshal(a.WithDefaults())
	y, errY := json.Marshal(b.WithDefaults())
	return errX == nil && errY == nil && string(x) == string(y)
}
