package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/forgeyard/forgeyard-fleet/cmd/forgeyard-fleet/terminal"
)

// Somebody who is asked about an unknown fleet thinks about the question, answers
// it, and hears then that it was a slip of the keyboard.
func TestUnknownObjectsFailBeforeTheQuestion(t *testing.T) {
	d := newDesk(t)
	if code, out := d.run(t.Context(), strings.NewReader("yes\n"), true, "apply", d.files); code != terminal.ExitDone {
		t.Fatalf("apply exits with %d:\n%s", code, out)
	}
	missing := regexp.MustCompile(`"\S*nope" not found|"01hz+" not found|unknown image "image.nope"`)
	const unknown = "01hzzzzzzzzzzzzzzzzzzzzzzz"
	for _, command := range []string{
		"scale nope --max 3 --for 1h", "freeze nope", "freeze nope --scale-up-only", "freeze nope --clear",
		"quarantine nope", "quarantine nope --clear",
		"cost-override nope --for 1h --reason x", "image rollout nope --resume", "image rollback nope",
		"image rollback image.nope", "quarantine image.nope",
		"image rollout nope --skip-soak", "instance adopt local.here r --fleet fleet.nope --remove",
		"pin " + unknown, "drain " + unknown, "quarantine " + unknown, "drain " + unknown + " --force",
		"instance replace " + unknown, "instance resolve " + unknown + " --gone",
	} {
		code, out := d.run(
			t.Context(),
			strings.NewReader("yes\n"),
			true,
			append(strings.Fields(command), "--dir", d.files)...)
		if code != terminal.ExitError || strings.Contains(out.String(), "Type \"yes\"") ||
			!missing.MatchString(out.String()) {
			t.Errorf("%s exits with %d:\n%s", command, code, out)
		}
	}
}

// An unknown provider was refused only after somebody had answered "yes".
func TestRefusalsComeBeforeTheQuestion(t *testing.T) {
	d := newDesk(t)
	if code, out := d.run(t.Context(), strings.NewReader("yes\n"), true, "apply", d.files); code != terminal.ExitDone {
		t.Fatalf("apply exits with %d:\n%s", code, out)
	}
	for command, want := range map[string]string{
		"freeze --provider local.nope":                      `unknown provider "local.nope"`,
		"freeze --provider local.nope --scale-up-only":      `unknown provider "local.nope"`,
		"quarantine sha256:short":                           "sha256:short",
		"instance adopt local.nope r --remove --fleet nope": `fleet "fleet.nope" not found`,
	} {
		code, out := d.run(
			t.Context(),
			strings.NewReader("yes\n"),
			true,
			append(strings.Fields(command), "--dir", d.files)...)
		if code != terminal.ExitError || strings.Contains(out.String(), "Type \"yes\"") ||
			!strings.Contains(out.String(), want) {
			t.Errorf("%s exits with %d:\n%s\nwant %s", command, code, out, want)
		}
	}
}

func TestValuesOutOfBoundsNameTheFlagAndItsLimits(t *testing.T) {
	d := newDesk(t)
	reserve := "reservation create --class c --start 2027-01-10T08:00:00Z --end 2027-01-10T09:00:00Z "
	for command, want := range map[string]string{
		"scale f --max 100001 --for 1h": `--max "100001": must be a whole number, 0 ≤ max ≤ 100000`,
		"scale f --min -1 --for 1h":     `--min "-1": must be a whole number, 0 ≤ min ≤ 100000`,
		"scale f --min 1.5 --for 1h":    `--min "1.5": must be a whole number`,
		"scale f --min 1 --for 721h":    `--for "721h": must be 0 < for ≤ 720h (30 days)`,
		"scale f --min 1 --for 0s":      `--for "0s": must be 0 < for ≤ 720h (30 days)`,
		"scale f --min " +
			"1 --for soon": `--for "soon": must be a duration, for example 90s, 15m or 2h`,
		"cost-override f --for 73h --reason x":                `--for "73h": must be 0 < for ≤ 72h (3 days)`,
		"pin i --for -1h":                                     `--for "-1h": must be 0 < for ≤ 720h (30 days)`,
		reserve + "--quantity 0":                              `--quantity "0": must be a whole number, 1 ≤ quantity ≤ 100000`,
		reserve + "--quantity 1 --lead-time -1s":              `--lead-time "-1s": must be 0 ≤ lead-time ≤ 720h (30 days)`,
		"events --limit 0":                                    `--limit "0": must be a whole number, 1 ≤ limit ≤ 1000`,
		"instance list --all --limit 1001":                    `--limit "1001": must be a whole number, 1 ≤ limit ≤ 1000`,
		"freeze f --reason " + strings.Repeat("x", 501):       `xxxxx…": has 501 bytes; the limit is 500`,
		"token create t --permission fleet.read --for -1h":    `--for "-1h": must be 0 ≤ for ≤ 87600h (3650 days)`,
		"token create t --permission fleet.read --for 87601h": `--for "87601h": must be 0 ≤ for ≤ 87600h (3650 days)`,
		"token create t --permission fleet.read " +
			"--for forever": `--for "forever": must be a duration, for example 90s, 15m or 2h`,
	} {
		code, out := d.run(t.Context(), strings.NewReader(""), true, strings.Fields(command)...)
		if code == terminal.ExitDone || !strings.Contains(out.String(), want) {
			t.Errorf("%.60s exits with %d:\n%s\nwant %s", command, code, out, want)
		}
	}
}

func TestCostOverrideNeedsADurationAndAReason(t *testing.T) {
	d := newDesk(t)
	for command, want := range map[string]string{
		"cost-override f --reason x": "Error: --for is required, for example --for 2h. For a permanent change, " +
			"edit the file.\n",
		"cost-override f --for 1h":         "Error: --reason is required: others will ask why the fleet cost more\n",
		"cost-override f --clear --for 1h": "Error: --clear and --for can't be combined:\n",
		"pin i --clear --for 1h":           "Error: --clear and --for can't be combined:\n",
		"freeze f --clear --scale-up-only": "Error: --clear and --scale-up-only can't be combined:\n",
		"scale f --min 1": "Error: --for is required, for example --for 2h. For a permanent change, " +
			"edit the file.\n",
		"image rollout f --pause --resume":       "Error: --pause and --resume can't be combined:\n",
		"token create t --permission fleet.look": "Error: --permission: unknown value \"fleet.look\"; valid: fleet.read, ",
	} {
		if _, said := d.must(terminal.ExitError, strings.Fields(command)...); !strings.HasPrefix(said, want) {
			t.Errorf("%s says\n%swant\n%s", command, said, want)
		}
	}
}

func TestEveryOverrideIsClearedTheSameWay(t *testing.T) {
	d := newDesk(t)
	d.withInstances("01jabcdefghjkmnpqrcet6vksa")
	for set, clear := range map[string]string{
		"freeze demo":                              "freeze demo --clear",
		"quarantine demo":                          "quarantine demo --clear",
		"quarantine 01jabcdefghjkmnpqrcet6vksa":    "quarantine 01jabcdefghjkmnpqrcet6vksa --clear",
		"scale demo --max 3 --for 1h":              "scale demo --clear",
		"pin 01jabcdefghjkmnpqrcet6vksa --for 15m": "pin 01jabcdefghjkmnpqrcet6vksa --clear",
	} {
		for _, line := range []string{set, clear} {
			args := strings.Fields(line)
			if args[0] != "pin" {
				args = append(args, "--auto-approve")
			}
			out, _ := d.must(terminal.ExitDone, append(args, "--json")...)
			if !strings.Contains(out, `"changed": true`) {
				t.Errorf("%s changes nothing:\n%s", line, out)
			}
		}
	}
}
