package config

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// readFleet reads a fleet block: one fleet, or one for each key of for_each.
func (l *loader) readFleet(block *body) {
	if block.attribute("for_each") == nil {
		l.readOneFleet(block, "")
		return
	}
	for _, each := range l.forEach(block) {
		one := *block
		one.scope, one.attributes, one.blocks = block.scope.withEach(each.key, each.value), []string{"for_each"}, nil
		l.readOneFleet(&one, each.key)
	}
}

func (l *loader) readOneFleet(block *body, key string) {
	if len(l.definition.Fleets) >= maxFleets {
		l.fail(block.header, block.where, "There are too many fleets", fmt.Sprintf("A definition has at most %d.", maxFleets))
		return
	}
	result := fleet.RunnerFleet{Address: fleet.NewFleetAddress(block.labels[0], key)}
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
	if name, ok := block.reference("scheduler", "scheduler"); ok {
		result.Scheduler = fleet.SchedulerAddress(name)
	}
	lifetime, _ := block.oneOf("lifetime_class", string(fleet.LifetimeStable), string(fleet.LifetimePreemptible))
	result.Lifetime = fleet.LifetimeClass(lifetime)
	result.Protected, _ = block.boolean("protected")
	l.readInstance(block, &result)
	block.policies(&result)
	scaling := block.single("scaling")
	if scaling != nil {
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
	if verifies, _ := l.verifiesIdentity(result); verifies {
		result.Admission.Identity = fleet.IdentityRequired
	}
	if admission := block.single("admission"); admission != nil {
		if isolation, ok := admission.oneOf("job_isolation", fleet.JobIsolationRequired, fleet.JobIsolationNone); ok {
			result.Admission.JobIsolation = isolation
		}
		result.Admission.MatchAddress, _ = admission.boolean("match_address")
		l.readIdentity(admission, &result)
		admission.close()
	}
	l.readBatch(block, &result)
	block.close()
	result = result.WithDefaults()
	l.checkFleet(block, scaling, result)
	l.fleetBlocks[result.Address] = block
	l.definition.Fleets = append(l.definition.Fleets, result)
}

func (b *body) runner() fleet.RunnerPolicy {
	var result fleet.RunnerPolicy
	result.Command = b.program("command", "[\"/usr/bin/make\", \"test\"]")
	if environment, ok := b.textMap("env"); ok {
		for _, name := range slices.Sorted(maps.Keys(environment)) {
			if !environmentName.MatchString(name) {
				b.fail(keyExpression(b.attribute("env").Expr, name).Range(), b.where,
					fmt.Sprintf("%q is no name of an environment variable", clip(name)), "Names hold letters, digits and _.")
			}
		}
		result.Env = environment
	}
	result.Cleanup = b.program("cleanup", "[\"/usr/local/bin/clean-up\"]")
	if user, ok := b.text("user"); ok {
		if !userForm.MatchString(user) {
			b.fail(b.at("user"), b.where, fmt.Sprintf("%q is no name of a user", clip(user)), "It is the name of an OS user on the host, such as \"ci\".")
		}
		result.User = user
	}
	for name, texts := range map[string][]string{"command": result.Command, "cleanup": result.Cleanup, "env": slices.Collect(maps.Values(result.Env))} {
		if slices.ContainsFunc(texts, func(text string) bool { return strings.ContainsRune(text, 0) }) {
			b.fail(b.at(name), b.where, fmt.Sprintf("%q holds a zero byte", name), "No program can be given one.")
		}
	}
	result.MaxJobs, _ = b.count("max_jobs", 1, 1_000_000)
	result.MaxAge, _ = b.duration("max_age", time.Second)
	b.close()
	return result
}

var userForm = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9._-]{0,63}$`)

// program is a list of a program and its arguments.
func (b *body) program(name, example string) []string {
	list, ok := b.texts(name)
	if !ok {
		return nil
	}
	if len(list) == 0 || list[0] == "" {
		b.fail(b.at(name), b.where, fmt.Sprintf("The %s is empty", name),
			fmt.Sprintf("It is a list of the program and its arguments, such as %s.", example))
	}
	return list
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
