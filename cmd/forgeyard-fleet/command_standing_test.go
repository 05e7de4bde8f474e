package main

import (
	"strings"
	"testing"
)

// Whoever is asked about a fleet that isn't there thinks about the question, answers
// it, and hears then that it was a slip of the keyboard.
func TestWhatIsNotThereIsToldBeforeAnybodyIsAsked(t *testing.T) {
	d := newDesk(t)
	if code, out := d.run(t.Context(), strings.NewReader("yes\n"), true, "apply", d.files); code != exitDone {
		t.Fatalf("apply exits with %d:\n%s", code, out)
	}
	const nobody = "01hzzzzzzzzzzzzzzzzzzzzzzz"
	for _, command := range []string{
		"scale nope --max 3 --for 1h", "freeze nope", "freeze nope --scale-up-only", "thaw nope", "quarantine nope", "quarantine nope --release",
		"break-glass nope --for 1h --reason x", "image rollout nope", "image rollback nope", "image rollback image.nope", "quarantine image.nope",
		"image rollout nope --skip-soak", "instance adopt local.here r --fleet fleet.nope --remove",
		"pin " + nobody, "drain " + nobody, "quarantine " + nobody, "drain " + nobody + " --force", "instance replace " + nobody, "instance resolve " + nobody + " --gone",
	} {
		code, out := d.run(t.Context(), strings.NewReader("yes\n"), true, append(strings.Fields(command), "--dir", d.files)...)
		if code != exitError || strings.Contains(out.String(), "Only \"yes\"") || !strings.Contains(out.String(), "no ") {
			t.Errorf("%s exits with %d:\n%s", command, code, out)
		}
	}
}

// A provider that isn't there was told of only after somebody had answered "yes".
func TestWhatWouldBeRefusedIsToldBeforeAnybodyIsAsked(t *testing.T) {
	d := newDesk(t)
	if code, out := d.run(t.Context(), strings.NewReader("yes\n"), true, "apply", d.files); code != exitDone {
		t.Fatalf("apply exits with %d:\n%s", code, out)
	}
	for command, want := range map[string]string{
		"freeze --provider local.nope":                      `there is no provider "local.nope"`,
		"freeze --provider local.nope --scale-up-only":      `there is no provider "local.nope"`,
		"quarantine sha256:short":                           "sha256:short",
		"instance adopt local.nope r --remove --fleet nope": `no fleet "fleet.nope"`,
	} {
		code, out := d.run(t.Context(), strings.NewReader("yes\n"), true, append(strings.Fields(command), "--dir", d.files)...)
		if code != exitError || strings.Contains(out.String(), "Only \"yes\"") || !strings.Contains(out.String(), want) {
			t.Errorf("%s exits with %d:\n%s\nwant %s", command, code, out, want)
		}
	}
}

func TestANumberOutOfItsBoundsIsToldInTheWordsOfItsFlag(t *testing.T) {
	d := newDesk(t)
	reserve := "reservation create --class c --start 2027-01-10T08:00:00Z --end 2027-01-10T09:00:00Z "
	for command, want := range map[string]string{
		"scale f --max 100001 --for 1h":                        `--max "100001": give a whole number from 0 to 100000`,
		"scale f --min -1 --for 1h":                            `--min "-1": give a whole number from 0 to 100000`,
		"scale f --min 1.5 --for 1h":                           `--min "1.5": give a whole number`,
		"scale f --min 1 --for 721h":                           `--for "721h": give from more than nothing to 30 days (720h0m0s)`,
		"scale f --min 1 --for 0s":                             `--for "0s": give from more than nothing to 30 days`,
		"scale f --min 1 --for soon":                           `--for "soon": give a duration such as 90s, 15m or 2h`,
		"break-glass f --for 73h --reason x":                   `--for "73h": give from more than nothing to 3 days (72h0m0s)`,
		"pin i --for -1h":                                      `--for "-1h": give from more than nothing to 30 days`,
		reserve + "--quantity 0":                               `--quantity "0": give a whole number from 1 to 100000`,
		reserve + "--quantity 1 --lead-time -1s":               `--lead-time "-1s": give from 0 to 30 days (720h0m0s)`,
		"events --limit 0":                                     `--limit "0": give a whole number from 1 to 1000`,
		"instance list --all --limit 1001":                     `--limit "1001": give a whole number from 1 to 1000`,
		"freeze f --reason " + strings.Repeat("x", 501):        `xxxxx…": it has 501 bytes and may have 500; say it shorter`,
		"token create t --permission fleet.read --for -1h":     `--for "-1h": give from 0 to 3650 days (87600h0m0s)`,
		"token create t --permission fleet.read --for 87601h":  `--for "87601h": give from 0 to 3650 days (87600h0m0s)`,
		"token create t --permission fleet.read --for forever": `--for "forever": give a duration such as 90s, 15m or 2h`,
	} {
		code, out := d.run(t.Context(), strings.NewReader(""), true, strings.Fields(command)...)
		if code == exitDone || !strings.Contains(out.String(), want) {
			t.Errorf("%.60s exits with %d:\n%s\nwant %s", command, code, out, want)
		}
	}
}
