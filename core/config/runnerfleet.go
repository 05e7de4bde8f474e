package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

func (l *loader) readFleet(block *body) {
	result := fleet.RunnerFleet{Address: fleet.FleetAddress("fleet." + block.labels[0])}
	block.need("capacity_class", "capacity_class = capacity_class.NAME")
	if name, ok := block.reference("capacity_class", "capacity_class"); ok {
		result.Class = l.classes[name]
	}
	block.need("provider", "provider = provider.PLUGIN.NAME")
	if name, ok := block.reference("provider", "provider"); ok {
		result.Provider = fleet.ProviderAddress(name)
	}
	if name, ok := block.reference("image", "image"); ok {
		result.Image = l.imageFor(block, name, result.Provider, block.at("image"))
	}
	l.readInstance(block, &result)
	if scaling := block.single("scaling"); scaling != nil {
		result.Scaling = scaling.scaling()
	} else {
		l.fail(block.header, block.where, "The scaling block is missing",
			fmt.Sprintf("It is needed in %s, with min and max at least.", block.where))
	}
	if runner := block.single("runner"); runner != nil {
		result.Runner = runner.runner()
	}
	result.Timeouts = fleet.DefaultTimeouts()
	if timeouts := block.single("timeouts"); timeouts != nil {
		timeouts.timeouts(&result.Timeouts)
	}
	result.Admission.JobIsolation = fleet.JobIsolationRequired
	if admission := block.single("admission"); admission != nil {
		if isolation, ok := admission.oneOf("job_isolation", fleet.JobIsolationRequired, fleet.JobIsolationNone); ok {
			result.Admission.JobIsolation = isolation
		}
		result.Admission.MatchAddress, _ = admission.boolean("match_address")
		admission.close()
	}
	block.close()
	l.definition.Fleets = append(l.definition.Fleets, result)
}

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
	if hasMax && result.Warm > most {
		b.warn(b.at("warm"), b.where, fmt.Sprintf("warm is larger than max: %d > %d", result.Warm, most),
			"max is a hard ceiling, so there will never be more than max. Lower warm or raise max.")
	}
	return result
}

func (b *body) runner() fleet.RunnerPolicy {
	var result fleet.RunnerPolicy
	if command, ok := b.texts("command"); ok {
		if len(command) == 0 || command[0] == "" {
			b.fail(b.at("command"), b.where, "The command is empty",
				"It is a list of the program and its arguments, such as [\"/usr/bin/make\", \"test\"].")
		}
		result.Command = command
	}
	if environment, ok := b.textMap("env"); ok {
		for _, name := range slices.Sorted(maps.Keys(environment)) {
			if !environmentName.MatchString(name) {
				b.fail(keyExpression(b.attribute("env").Expr, name).Range(), b.where,
					fmt.Sprintf("%q is no name of an environment variable", clip(name)), "Names hold letters, digits and _.")
			}
		}
		result.Env = environment
	}
	for i, text := range append(slices.Clone(result.Command), slices.Collect(maps.Values(result.Env))...) {
		if strings.ContainsRune(text, 0) {
			name := "command"
			if i >= len(result.Command) {
				name = "env"
			}
			b.fail(b.at(name), b.where, fmt.Sprintf("%q holds a zero byte", name), "No program can be given one.")
		}
	}
	result.MaxJobs, _ = b.count("max_jobs", 1, 1_000_000)
	result.MaxAge, _ = b.duration("max_age", time.Second)
	b.close()
	return result
}

func (b *body) timeouts(result *fleet.Timeouts) {
	for _, one := range []struct {
		name   string
		least  time.Duration
		target *time.Duration
	}{
		{"provision", time.Nanosecond, &result.Provision},
		{"boot", time.Nanosecond, &result.Boot},
		{"enroll", time.Nanosecond, &result.Enroll},
		{"heartbeat", time.Second, &result.Heartbeat},
		{"drain", time.Nanosecond, &result.Drain},
		{"terminate", time.Nanosecond, &result.Terminate},
		{"quarantine", time.Nanosecond, &result.Quarantine},
		{"lost_grace", time.Nanosecond, &result.LostGrace},
		{"max_offline", time.Nanosecond, &result.MaxOffline},
	} {
		if span, ok := b.duration(one.name, one.least); ok {
			*one.target = span
		}
	}
	b.close()
}

// readRemoved reads the removed blocks: removal is written down, never inferred
// from what a file no longer mentions.
func (l *loader) readRemoved(blocks []*body) {
	first := map[string]*body{}
	for _, block := range blocks {
		block.need("from", "from = fleet.NAME")
		attribute := block.attribute("from")
		block.close()
		if attribute == nil || block.isNull("from") {
			continue
		}
		traversal, problems := hcl.AbsTraversalForExpr(attribute.Expr)
		name, ok := "", false
		if !problems.HasErrors() && traversal.RootName() == "fleet" && len(traversal) == 2 {
			name, ok = nameAt(traversal, 1)
		}
		switch before := first[name]; {
		case !ok || !fleet.ValidName(name):
			l.fail(attribute.Expr.Range(), block.where, "This can't be removed",
				"A removed block takes away a fleet. Write: from = fleet.NAME, without quotes.")
		case slices.Contains(l.scope.names["fleet"], name):
			l.fail(attribute.Expr.Range(), block.where, fmt.Sprintf("The fleet %q is declared and removed", name),
				fmt.Sprintf("Delete the block fleet %q, or this removed block.", name))
		case before != nil:
			l.fail(attribute.Expr.Range(), block.where, fmt.Sprintf("The fleet %q is removed twice", name),
				fmt.Sprintf("The first removed block is at %s. Delete one of them.", place(before.header)))
		default:
			first[name] = block
			l.definition.Removed = append(l.definition.Removed, fleet.FleetAddress("fleet."+name))
		}
	}
	slices.Sort(l.definition.Removed)
}
