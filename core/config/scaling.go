package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	words "github.com/forgeyard/forgeyard-fleet/core/reason/text"
)

// policy is what the block means; nil: nothing.
func (s *scalingBlock) policy() fleet.ScalingPolicy {
	if s == nil {
		return fleet.ScalingPolicy{}
	}
	result := fleet.ScalingPolicy{Min: s.Min, Max: s.Max, Warm: s.Warm, ScaleToZero: s.ScaleToZero, MaxWait: s.MaxWait}
	if s.ScaleUp != nil {
		result.ScaleUp = fleet.ScaleUpPolicy(*s.ScaleUp)
	}
	if s.ScaleDown != nil {
		result.ScaleDown = fleet.ScaleDownPolicy(*s.ScaleDown)
	}
	for _, one := range s.Schedules {
		one.Cron = strings.Join(strings.Fields(one.Cron), " ")
		result.Schedules = append(result.Schedules, fleet.ScalingSchedule(one))
	}
	slices.SortFunc(result.Schedules, func(x, y fleet.ScalingSchedule) int { return cmp.Compare(x.Name, y.Name) })
	return result
}

// scalingOf is the block that means a policy.
func scalingOf(p fleet.ScalingPolicy) *scalingBlock {
	up, down := scaleUpBlock(p.ScaleUp), scaleDownBlock(p.ScaleDown)
	s := &scalingBlock{
		Min: p.Min, Max: p.Max, Warm: p.Warm, ScaleToZero: p.ScaleToZero, MaxWait: p.MaxWait, ScaleUp: &up, ScaleDown: &down,
	}
	for _, one := range p.Schedules {
		s.Schedules = append(s.Schedules, scheduleBlock(one))
	}
	return s
}

// checkScaling looks at what must fit together in the scaling block (spec §13). That a
// fleet may go down to nothing is said twice, by min = 0 and by scale_to_zero,
// since jobs then wait for a boot (spec §17).
func checkScaling(b *body, s *scalingBlock) {
	hasMin, hasMax := b.given("min"), b.given("max")
	if hasMin && hasMax && s.Min > s.Max {
		b.Fail(b.at("min"), b.where, fmt.Sprintf("min is larger than max: %d > %d", s.Min, s.Max), "Lower min or raise max.")
	}
	if hasMin && s.Min == 0 && !s.ScaleToZero {
		b.Fail(
			b.at("min"),
			b.where,
			"min = 0 needs scale_to_zero",
			"With no instance left, a job waits until one has booted and enrolled. Write scale_to_zero = true if that is "+
				"acceptable, or min = 1.",
		)
	}
	if hasMin && s.Min > 0 && s.ScaleToZero {
		b.Fail(b.at("scale_to_zero"), b.where, fmt.Sprintf("scale_to_zero contradicts min = %d", s.Min),
			"Write min = 0, or leave scale_to_zero out.")
	}
	if s.MaxWait > 0 && !s.ScaleToZero {
		b.Fail(
			b.at("max_wait"),
			b.where,
			"max_wait has no effect without scale_to_zero",
			"It is how long a job may wait where a fleet has no instance. Write min = 0 and scale_to_zero = true, or "+
				"leave it out.",
		)
	}
	if hasMax {
		checkWarm(b, s.Warm, s.Max)
		for i, block := range b.inner["schedule"] {
			checkWarm(block, s.Schedules[i].Warm, s.Max)
		}
	}
	for _, up := range b.inner["scale_up"] {
		if up.given("window") && !up.given("max_step") {
			up.Warn(up.at("window"), up.where, "window needs max_step",
				"It is the time in which at most max_step instances are started. Write both, or neither.")
		}
	}
}

func checkWarm(b *body, warm, most int) {
	if b.given("warm") && warm > most {
		b.Warn(b.at("warm"), b.where, fmt.Sprintf("warm is larger than max: %d > %d", warm, most),
			"max is a hard limit, so there will never be more than max. Lower warm or raise max.")
	}
}

// checkWait warns where the timeouts of a fleet allow more than its jobs may wait.
func checkWait(scaling *body, f fleet.RunnerFleet) {
	wait := f.Timeouts.Boot + f.Timeouts.Enroll
	if f.Scaling.MaxWait == 0 || wait <= f.Scaling.MaxWait {
		return
	}
	scaling.Warn(
		scaling.at("max_wait"),
		scaling.where,
		fmt.Sprintf(
			"An instance may take longer than max_wait: %s > %s",
			words.Duration(wait),
			words.Duration(f.Scaling.MaxWait),
		),
		"Without an instance, a job waits for boot and enrollment, and timeouts allow them more. Shorten timeouts.boot and "+
			"timeouts.enroll, raise max_wait, or keep an instance with min = 1.",
	)
}
