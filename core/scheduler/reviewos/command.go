package reviewos

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/scheduler"
)

// The variables that a runner's command finds. The credential is in the first.
const (
	tokenVariable  = "RUNNER_TOKEN"
	urlVariable    = "REVIEWOS_URL"
	targetVariable = "REVIEWOS_TARGET"
)

// startScript runs the runner that the host has, or the one that the instance
// offers. The runner is only known to take its credential as an argument, where
// other users of the host could see it; no job finds it in its environment.
const startScript = `set -eu
runner=$(command -v reviewos-runner || true)
if [ -z "$runner" ]; then
  curl -fsS "$REVIEWOS_URL` + DownloadPath + `?target=$REVIEWOS_TARGET" -o reviewos-runner
  chmod 700 reviewos-runner
  runner=./reviewos-runner
fi
token=$RUNNER_TOKEN
unset RUNNER_TOKEN REVIEWOS_URL REVIEWOS_TARGET
exec "$runner" --token "$token" "$@"`

// commandOf is what the agent runs. On Windows there is no shell to rely on: the
// host must have the runner, and the fleet's file the command.
func commandOf(url string, r scheduler.Runner, queue fleet.SchedulerQueue) []string {
	if r.Class.Platform.OS == "windows" {
		return nil
	}
	return append([]string{"sh", "-c", startScript, "reviewos-runner"}, argumentsOf(url, r, queue)...)
}

// argumentsOf is how the runner is started, but for its token. Jobs are those of
// its life: one that takes a single one leaves a fresh machine to each.
func argumentsOf(url string, r scheduler.Runner, queue fleet.SchedulerQueue) []string {
	arguments := []string{"--url", url}
	if r.MaxJobs > 0 {
		arguments = append(arguments, "--jobs", strconv.Itoa(r.MaxJobs))
	}
	if labels := labelsOf(queue); labels != "" {
		arguments = append(arguments, "--labels", labels)
	}
	arguments = append(arguments, "--tags", tagsOf(r.Class, queue))
	if r.IdleTimeout > 0 {
		seconds := (r.IdleTimeout + time.Second - 1) / time.Second
		arguments = append(arguments, "--idle-timeout", strconv.FormatInt(int64(seconds), 10))
	}
	return arguments
}

// environmentOf is what only the runner's process gets.
func environmentOf(url string, r scheduler.Runner, token string) map[string]string {
	return map[string]string{tokenVariable: token, urlVariable: url, targetVariable: targetOf(r.Class.Platform)}
}

// targetOf is a platform in the words of the download.
func targetOf(p fleet.Platform) string {
	os, arch := p.OS, p.Arch
	if os == "darwin" {
		os = "macos"
	}
	if arch == "x86_64" {
		arch = "x64"
	}
	return os + "-" + arch
}

// labelsOf is what jobs ask for by runs-on.
func labelsOf(queue fleet.SchedulerQueue) string { return strings.Join(queue.Labels, ",") }

// tagsOf is what jobs ask for by agents: what the file says, the platform, and the
// capabilities, each of which the host was admitted for having shown.
func tagsOf(class fleet.CapacityClass, queue fleet.SchedulerQueue) string {
	tags := map[string]string{"os": class.Platform.OS, "arch": class.Platform.Arch}
	for _, capability := range class.Capabilities {
		tags[capability] = "yes"
	}
	maps.Copy(tags, queue.Tags)
	var out []string
	for _, name := range slices.Sorted(maps.Keys(tags)) {
		out = append(out, name+"="+tags[name])
	}
	return strings.Join(out, ",")
}
