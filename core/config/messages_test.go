package config_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/forgeyard/forgeyard-fleet/core/config"
)

// Messages about what people write where it doesn't belong, or know otherwise from
// elsewhere. Each is compared whole: what is wrong, and what to write.
func TestMessagesSayWhatToWrite(t *testing.T) {
	const rest = "\n  scaling {\n    min = 1\n    max = 1\n  }\n}\n"
	fleetWith := func(line string) string {
		return "fleet \"x\" {\n  capacity_class = capacity_class.standard\n  provider = provider.bare.rack\n" + line + rest
	}
	scaling := func(line string) string {
		return "fleet \"x\" {\n  capacity_class = capacity_class.standard\n  provider = provider.bare.rack\n  scaling {\n  " +
			"  min = 1\n    max = 1\n" + line + "\n  }\n}\n"
	}
	schedule := func(cron string) string {
		return scaling("schedule \"s\" {\n cron = \"" + cron + "\"\n duration = \"1h\"\n warm = 1\n}")
	}
	memory := func(size string) string {
		return "capacity_class \"c\" {\n  trust = \"a\"\n  platform {\n    os = \"linux\"\n    arch = \"arm64\"\n  }\n  " +
			"resources {\n    cpu = 1\n    memory = \"" + size + "\"\n  }\n}\n"
	}
	const useSize = `Use a number with a unit, such as 4GiB; valid units: KiB, MiB, GiB, TiB.`
	for name, one := range map[string]struct{ text, summary, detail string }{
		"a reference without provider": {
			"locals {\n  a = bare.rack\n}\n", `Unknown name "bare"`, `Did you mean provider.bare.rack?`},
		"a block with a label too few": {
			"provider \"local\" {\n  alias = \"here\"\n}\n", `The block "provider" needs 2 labels, has 1`,
			`Write: provider "PLUGIN" "NAME" { … }`},
		"a file's text": {
			"locals {\n  a = file(\"x.sh\")\n}\n", `Unknown function "file"`,
			`Fleet files read no other files. Write the text here, or set a variable from FLEET_VAR_NAME or --var-file; for a secret, write secret("file:/path").`},
		"the environment": {
			"locals {\n  a = env(\"HOME\")\n}\n", `Unknown function "env"`,
			`Fleet files read no environment. Declare a variable, which FLEET_VAR_NAME sets; for a secret, write secret("env:NAME").`},
		"an attribute of a block within": {
			scaling("idle_grace = \"5m\""), `Unexpected attribute "idle_grace"`,
			`It belongs in fleet.scaling.scale_down. Write: scale_down { idle_grace = … }`},
		"an attribute of a block beside": {
			scaling("soak = \"5m\""), `Unexpected attribute "soak"`, `It belongs in fleet.rollout. Write: rollout { soak = … }`},
		"an attribute of several blocks": {
			fleetWith("  max_step = 1"), `Unexpected attribute "max_step"`,
			`It belongs in fleet.scaling.scale_up or fleet.scaling.scale_down.`},
		"an unexpected block": {
			scaling("scale_left {\n}"), `Unexpected block "scale_left"`, `Valid blocks: "scale_down", "scale_up", "schedule".`},
		"a decimal unit":   {memory("512MB"), `Invalid size "512MB" for memory`, `Did you mean "488MiB"? ` + useSize},
		"gigabytes":        {memory("16GB"), `Invalid size "16GB" for memory`, `Did you mean "15258MiB"? ` + useSize},
		"a unit cut short": {memory("16G"), `Invalid size "16G" for memory`, `Did you mean "16GiB"? ` + useSize},
		"a size without": {memory("16"), `Invalid size "16" for memory`,
			`The unit is missing; use a number with a unit, such as 4GiB; valid units: KiB, MiB, GiB, TiB.`},
		"a week that wraps": {schedule("0 8 * * sat-sun"), `Invalid cron expression "0 8 * * sat-sun" for cron`,
			`Ranges can't wrap around: instead of sat-sun, write sat,sun.`},
		"a week that wraps longer": {
			schedule("0 8 * * fri-mon"), `Invalid cron expression "0 8 * * fri-mon" for cron`,
			`Ranges can't wrap around: instead of fri-mon, write fri-sat,sun-mon.`},
		"hours that wrap": {
			schedule("0 22-6 * * *"), `Invalid cron expression "0 22-6 * * *" for cron`,
			`Ranges can't wrap around: instead of 22-6, write 22-23,0-6.`},
		"days as numbers": {
			schedule("0 8 * * 5-1"), `Invalid cron expression "0 8 * * 5-1" for cron`,
			`Ranges can't wrap around: instead of 5-1, write 5-6,0-1.`},
		"a number out of bounds": {
			fleetWith("  batch = 0"), `Invalid value 0 for batch`, `Use a whole number: 1 ≤ batch ≤ 100.`},
	} {
		t.Run(name, func(t *testing.T) {
			_, found := load(t, one.text, config.Variables{})
			if len(found) != 1 {
				t.Fatalf("want one message:\n%s", rendered(t, found))
			}
			got := []string{found[0].Summary, found[0].Detail}
			if difference := cmp.Diff([]string{one.summary, one.detail}, got); difference != "" {
				t.Errorf("(-want +got):\n%s", difference)
			}
		})
	}
}
