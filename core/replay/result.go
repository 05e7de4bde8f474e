package replay

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/planner"
)

// Result is what a fleet file would have done.
type Result struct {
	// Begin is the first arrival, End when the last job had ended.
	Begin time.Time `json:"begin"`
	End   time.Time `json:"end"`
	Jobs  int       `json:"jobs"`
	// Ran have run to their end; Unfinished waited for a host that never came, and
	// Unrunnable are those that no fleet can run. Together they are Jobs.
	Ran        int `json:"ran"`
	Unfinished int `json:"unfinished"`
	Unrunnable int `json:"unrunnable"`
	// Unplaced says why, for those that didn't run. Of jobs that no fleet can run for
	// the same reason it has the requirement of one.
	Unplaced []planner.UnplacedDemand `json:"unplaced,omitempty"`
	Wait     Wait                     `json:"wait_seconds"`
	Total    Use                      `json:"total"`
	// Costs are the fleets' costs by currency, and Unpriced the fleets that had
	// hosts and name no price.
	Costs    []fleet.Money        `json:"costs"`
	Unpriced []fleet.FleetAddress `json:"unpriced,omitempty"`
	Fleets   []FleetResult        `json:"fleets"`
	// Plans is how often the planner was asked.
	Plans int `json:"plans"`
	// Notes say what of the file the replay couldn't know.
	Notes []string `json:"notes,omitempty"`
	// Moments are from Begin on, each MomentSeconds long.
	MomentSeconds float64  `json:"moment_seconds"`
	Moments       []Moment `json:"moments"`
}

// Wait is how long jobs waited for a host, in seconds.
type Wait struct {
	P50  float64 `json:"p50"`
	P95  float64 `json:"p95"`
	P99  float64 `json:"p99"`
	Max  float64 `json:"max"`
	Mean float64 `json:"mean"`
	// Waited is the share of jobs that waited at all.
	Waited float64 `json:"waited"`
}

// Use is how hosts were used.
type Use struct {
	// Jobs is how many jobs began on the hosts.
	Jobs     int `json:"jobs"`
	Launches int `json:"launches"`
	// Relaunches are launches soon after a host of the fleet had left: as many as
	// there were hosts that need not have left.
	Relaunches int `json:"relaunches"`
	// MostHosts is how many there were at once.
	MostHosts     int     `json:"most_hosts"`
	InstanceHours float64 `json:"instance_hours"`
	// BusyHours are the instance hours in which a job ran.
	BusyHours float64 `json:"busy_hours"`
	// Utilisation is the share of the instance hours that jobs took: each job for
	// the part of the host that it takes of the resource it takes most of.
	Utilisation float64 `json:"utilisation"`
	// What follows is computed from these; 0 where it would be divided by nothing.
	InstanceHoursPerBusyHour float64 `json:"instance_hours_per_busy_hour"`
	LaunchesPerJob           float64 `json:"launches_per_job"`
	RelaunchesPerJob         float64 `json:"relaunches_per_job"`
}

// FleetResult is what one fleet did.
type FleetResult struct {
	Fleet fleet.FleetAddress `json:"fleet"`
	Use
	// Cost is what its hosts cost; nil: its file names no price.
	Cost *fleet.Money `json:"cost"`
}

// result bills what is still there, and sums up.
func (r *replay) result() *Result {
	r.now = max(r.lastEnd, r.trace.Jobs[len(r.trace.Jobs)-1].Arrival)
	for _, h := range r.hosts {
		if h.launched < r.now {
			r.bill(h)
		}
	}
	out := &Result{
		Begin: at(r.trace.Jobs[0].Arrival), End: at(r.now), Jobs: len(r.trace.Jobs), Ran: len(r.waits), Unfinished: r.waiting,
		Wait: waitOf(r.waits), Plans: r.asked, Costs: []fleet.Money{},
		MomentSeconds: time.Duration(r.series.width).Seconds(), Moments: r.series.moments(),
	}
	out.explainUnmet(r)
	total, used := Use{}, 0.0
	for _, f := range r.fleets {
		out.Fleets = append(out.Fleets, f.result())
		out.Notes = append(out.Notes, notes(f)...)
		out.addCost(f)
		total.Jobs, total.Launches, total.Relaunches = total.Jobs+f.jobs, total.Launches+f.launches,
			total.Relaunches+f.relaunches
		total.InstanceHours += f.instance.Hours()
		total.BusyHours += f.busy.Hours()
		used += f.used
	}
	total.MostHosts = r.mostHosts
	total.derive(used)
	out.Total = total
	slices.SortFunc(out.Costs, func(a, b fleet.Money) int { return cmp.Compare(a.Currency, b.Currency) })
	return out
}

// explainUnmet says why jobs didn't run: once for all kinds that lack the same,
// the most jobs first.
func (out *Result) explainUnmet(r *replay) {
	var lacking []*kindState
	for _, k := range r.kinds {
		if k.unrunnable == 0 {
			continue
		}
		out.Unrunnable += k.unrunnable
		why := r.nearest(k)
		n := slices.IndexFunc(out.Unplaced, func(u planner.UnplacedDemand) bool {
			return u.Scheduler == why.Scheduler && slices.Equal(u.Nearest, why.Nearest)
		})
		if n < 0 {
			lacking = append(lacking, &kindState{Kind: k.Kind, unrunnable: k.unrunnable})
			out.Unplaced = append(out.Unplaced, why)
			continue
		}
		lacking[n].unrunnable += k.unrunnable
		out.Unplaced[n] = r.nearest(lacking[n])
	}
	slices.SortStableFunc(out.Unplaced, func(a, b planner.UnplacedDemand) int { return cmp.Compare(b.Count, a.Count) })
	if r.waiting > 0 {
		out.Unplaced = append(out.Unplaced, r.unplaced...)
	}
}

func (f *fleetState) result() FleetResult {
	use := Use{
		Jobs: f.jobs, Launches: f.launches, Relaunches: f.relaunches, MostHosts: f.most,
		InstanceHours: f.instance.Hours(), BusyHours: f.busy.Hours(),
	}
	use.derive(f.used)
	return FleetResult{Fleet: f.Address, Use: use, Cost: f.cost.money(f.Cost)}
}

// derive computes what follows from the sums; used is in host-seconds.
func (u *Use) derive(used float64) {
	ratio := func(a, b float64) float64 {
		if b == 0 {
			return 0
		}
		return a / b
	}
	u.Utilisation = ratio(used/3600, u.InstanceHours)
	u.InstanceHoursPerBusyHour = ratio(u.InstanceHours, u.BusyHours)
	u.LaunchesPerJob = ratio(float64(u.Launches), float64(u.Jobs))
	u.RelaunchesPerJob = ratio(float64(u.Relaunches), float64(u.Jobs))
}

func (out *Result) addCost(f *fleetState) {
	sum := f.cost.money(f.Cost)
	switch {
	case f.launches == 0:
	case sum == nil:
		out.Unpriced = append(out.Unpriced, f.Address)
	default:
		n := slices.IndexFunc(out.Costs, func(m fleet.Money) bool { return m.Currency == sum.Currency })
		if n < 0 {
			out.Costs = append(out.Costs, *sum)
			return
		}
		out.Costs[n].Micros += sum.Micros
	}
}

// notes say what can't be known of a fleet without its provider.
func notes(f *fleetState) (out []string) {
	if f.Market {
		price := "and it names no price"
		if !f.Cost.Hourly.IsZero() {
			price = fmt.Sprintf("and each host is taken for its hourly = %s", f.Cost.Hourly)
		} else if !f.Cost.MaxHourly.IsZero() || !f.Cost.MaxDaily.IsZero() {
			price += ", so its cost limits hold nothing back"
		}
		out = append(
			out,
			fmt.Sprintf(
				"The offers of %s aren't known here, since no plugin is asked: there is always room, %s.",
				f.Address,
				price,
			),
		)
	}
	switch {
	case f.Joined:
		out = append(
			out,
			fmt.Sprintf("The hosts of %s are joined by a person: none of them is there in a replay.", f.Address),
		)
	case f.Scheduler == "":
		out = append(
			out,
			fmt.Sprintf("%s follows no scheduler: it has the size of its file, and no job of the trace runs there.", f.Address),
		)
	}
	return out
}

// waitOf sorts the waits, and measures them.
func waitOf(waits []time.Duration) Wait {
	if len(waits) == 0 {
		return Wait{}
	}
	slices.Sort(waits)
	sum, waited := 0.0, 0
	for _, w := range waits {
		sum += w.Seconds()
		if w > 0 {
			waited++
		}
	}
	n := float64(len(waits))
	return Wait{
		P50: percentile(
			waits,
			50,
		),
		P95:    percentile(waits, 95),
		P99:    percentile(waits, 99),
		Max:    waits[len(waits)-1].Seconds(),
		Mean:   sum / n,
		Waited: float64(waited) / n,
	}
}

// percentile is the least wait that so many percent of the jobs didn't exceed.
func percentile(sorted []time.Duration, percent int) float64 {
	n := (len(sorted)*percent + 99) / 100
	return sorted[max(1, n)-1].Seconds()
}
