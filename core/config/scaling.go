package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/adhocore/gronx"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/planner/schedule"
)

// scaling reads the bounds [13]. That a fleet may go down to nothing is said
// twice, by min = 0 and by scale_to_zero, since jobs then wait for a boot [17].
func (b *body) scaling() fleet.ScalingPolicy {
	b.need("min", "min = 1")
	b.need("max", "max = 4")
	var result fleet.ScalingPolicy
	least, hasMin := b.count("min", 0, maxCount)
	most, hasMax := b.count("max", 0, maxCount)
	result.Min, result.Max = least, most
	result.Warm, _ = b.count("warm", 0, maxCount)
	result.ScaleToZero, _ = b.boolean("scale_to_zero")
	result.MaxWait, _ = b.duration("max_wait", time.Second)
	if up := b.single("scale_up"); up != nil {
		result.ScaleUp = up.scaleUp()
	}
	if down := b.single("scale_down"); down != nil {
		result.ScaleDown = down.scaleDown()
	}
	result.Schedules = b.schedules(result.Max)
	b.close()
	if hasMin && hasMax && least > most {
		b.fail(b.at("min"), b.where, fmt.Sprintf("min is larger than max: %d > %d", least, most),
			"Lower min or raise max.")
	}
	if hasMin && least == 0 && !result.ScaleToZero {
		b.fail(b.at("min"), b.where, "min = 0 needs scale_to_zero",
			"With no host left, a job waits until one has booted and enrolled. Say that this is acceptable with scale_to_zero = true, or write min = 1.")
	}
	if hasMin && least > 0 && result.ScaleToZero {
		b.fail(b.at("scale_to_zero"), b.where, fmt.Sprintf("scale_to_zero contradicts min = %d", least),
			"Write min = 0, or leave scale_to_zero out.")
	}
	if result.MaxWait > 0 && !result.ScaleToZero {
		b.fail(b.at("max_wait"), b.where, "max_wait has no meaning without scale_to_zero",
			"It is how long a job may wait where a fleet has no host. Write min = 0 and scale_to_zero = true, or leave it out.")
	}
	if hasMax && result.Warm > most {
		b.warn(b.at("warm"), b.where, fmt.Sprintf("warm is larger than max: %d > %d", result.Warm, most),
			"max is a hard ceiling, so there will never be more than max. Lower warm or raise max.")
	}
	return result
}

// scaleUp limits growth [127].
func (b *body) scaleUp() fleet.ScaleUpPolicy {
	result := fleet.ScaleUpPolicy{Window: time.Minute}
	result.MaxStep, _ = b.count("max_step", 1, maxCount)
	if window, ok := b.duration("window", time.Second); ok {
		result.Window = window
		if b.syntax.Attributes["max_step"] == nil {
			b.warn(b.at("window"), b.where, "window needs max_step", "It is the time in which at most max_step instances are started. Write both, or neither.")
		}
	}
	b.close()
	return result
}

// scaleDown is the hysteresis [128, 129].
func (b *body) scaleDown() fleet.ScaleDownPolicy {
	result := fleet.RunnerFleet{}.WithDefaults().Scaling.ScaleDown
	if grace, ok := b.duration("idle_grace", time.Second); ok {
		result.IdleGrace = grace
	}
	if cooldown, ok := b.duration("cooldown", 0); ok {
		result.Cooldown = cooldown
	}
	result.MaxStep, _ = b.count("max_step", 1, maxCount)
	b.close()
	return result
}

func (b *body) schedules(most int) []fleet.ScalingSchedule {
	var result []fleet.ScalingSchedule
	first := map[string]*body{}
	for _, block := range b.children("schedule", "NAME") {
		one := block.schedule(most)
		if before := first[one.Name]; before != nil {
			b.fail(block.header, b.where, fmt.Sprintf("The schedule %q is declared twice", one.Name),
				fmt.Sprintf("The first one is at %s. Remove or rename one of them.", place(before.header)))
			continue
		}
		first[one.Name] = block
		result = append(result, one)
	}
	slices.SortFunc(result, func(x, y fleet.ScalingSchedule) int { return cmp.Compare(x.Name, y.Name) })
	return result
}

func (b *body) schedule(most int) fleet.ScalingSchedule {
	result := fleet.ScalingSchedule{Name: b.labels[0], TimeZone: "UTC"}
	b.need("cron", "cron = \"0 8 * * 1-5\"")
	b.need("duration", "duration = \"10h\"")
	b.need("warm", "warm = 4")
	if text, ok := b.text("cron"); ok {
		result.Cron = b.cron(text)
	}
	result.Duration, _ = b.duration("duration", time.Minute)
	if zone, ok := b.text("timezone"); ok {
		// "Local" would be the manager's own zone, which no reader of the file knows.
		if _, err := time.LoadLocation(zone); err != nil || zone == "" || zone == "Local" {
			b.fail(b.at("timezone"), b.where, fmt.Sprintf("There is no time zone %q", clip(zone)), "Zones are like \"Europe/Berlin\" or \"UTC\".")
		}
		result.TimeZone = zone
	}
	warm, ok := b.count("warm", 0, maxCount)
	result.Warm = warm
	if ok && warm > most {
		b.warn(b.at("warm"), b.where, fmt.Sprintf("warm is larger than max: %d > %d", warm, most),
			"max is a hard ceiling, so there will never be more than max. Lower warm or raise max.")
	}
	b.close()
	return result
}

// cron is an expression of five fields that comes up some day. The library also
// knows fields for seconds and years, and names such as @daily; the file has the
// one form that everybody reads.
func (b *body) cron(text string) string {
	const form = "Five fields say when it begins: minute, hour, day of the month, month, day of the week, such as \"0 8 * * 1-5\"."
	fields := strings.Fields(text)
	_, err := schedule.Read(strings.Join(fields, " "), "UTC")
	switch {
	case len(fields) != 5:
		b.fail(b.at("cron"), b.where, fmt.Sprintf("\"cron\" has %s: %q", counted(len(fields), "field"), clip(text)), form)
	case err != nil:
		b.fail(b.at("cron"), b.where, fmt.Sprintf("\"cron\" is no time: %q", clip(text)), form)
	default:
		// Any day will do to begin with: a date that never comes never comes.
		if _, err := gronx.NextTickAfter(strings.Join(fields, " "), time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC), true); err != nil {
			b.fail(b.at("cron"), b.where, fmt.Sprintf("\"cron\" never comes: %q", clip(text)), "No month has such a day.")
		}
	}
	return strings.Join(fields, " ")
}
