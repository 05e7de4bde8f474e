package loop

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/agentapi"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
)

// admit judges the agents that have enrolled [70]. Until every check passed a
// runner is told to wait; the trust class comes from the capacity class, and
// nothing that an agent says can raise it.
func (l *Loop) admit(w *step) {
	for _, r := range w.rows {
		if r.State != fleet.Enrolling || r.runner == nil {
			continue
		}
		verdict := l.evaluateAdmission(r)
		if !reflect.DeepEqual(verdict, r.Admission) {
			r.Admission, r.dirty = verdict, true
		}
		switch verdict.State {
		case fleet.AdmissionVerified:
			w.move(r, fleet.Healthy, lifecycle.AdmissionGranted, fmt.Sprintf("All %d admission checks passed.", len(verdict.Checks)))
		case fleet.AdmissionQuarantined:
			w.move(r, fleet.Quarantined, lifecycle.EvidenceFailed, failedChecks(verdict, fleet.Suspicious))
		case fleet.AdmissionRejected:
			w.move(r, fleet.Failed, lifecycle.AdmissionRefused, failedChecks(verdict, fleet.Refused))
		}
	}
}

// evaluateAdmission runs every check. The worst result wins: suspicious before refused
// before waiting.
func (l *Loop) evaluateAdmission(r *row) fleet.Admission {
	checks := []fleet.AdmissionCheck{
		identity(r), class(r), providerCrossCheck(r), platform(r), capabilities(r), attestation(r),
		l.version(r), timeSanity(r), health(r), jobIsolation(r),
	}
	has := func(result fleet.CheckResult) bool {
		return slices.ContainsFunc(checks, func(c fleet.AdmissionCheck) bool { return c.Result == result })
	}
	state := fleet.AdmissionVerified
	switch {
	case has(fleet.Suspicious):
		state = fleet.AdmissionQuarantined
	case has(fleet.Refused):
		state = fleet.AdmissionRejected
	case has(fleet.Waiting):
		state = fleet.AdmissionPending
	}
	return fleet.Admission{State: state, Policy: r.fleet.Admission, Checks: checks}
}

func check(name string, result fleet.CheckResult, format string, args ...any) fleet.AdmissionCheck {
	return fleet.AdmissionCheck{Name: name, Result: result, Evidence: fmt.Sprintf(format, args...)}
}

func identity(r *row) fleet.AdmissionCheck {
	switch {
	case r.runner.Tampered:
		return check("identity", fleet.Suspicious, "The enrollment token was used with two keys: %s", r.runner.Alert)
	case !r.runner.Revoked.IsZero():
		return check("identity", fleet.Refused, "The certificate was revoked.")
	case r.runner.Operation != r.Key:
		return check("identity", fleet.Suspicious, "The token of operation %s was used on the instance of %s.", r.runner.Operation, r.Key)
	}
	if r.fleet.Admission.RequiresIdentity() || r.provision.Batch.Key != "" {
		return verifiedIdentity(r)
	}
	return check("identity", fleet.Passed, "A single-use token of this instance was spent for the key %s.", fleet.ShortDigest(r.runner.KeyHash))
}

// verifiedIdentity holds the evidence that the agent enrolled with against the
// resource that the instance has now.
func verifiedIdentity(r *row) fleet.AdmissionCheck {
	v := r.runner.Identity
	switch {
	case v.Resource == "":
		return check("identity", fleet.Refused, "The agent enrolled without evidence of its host, and the fleet asks for it now.")
	case v.Resource != r.ProviderInstance:
		return check("identity", fleet.Suspicious, "The agent enrolled as %s, and the instance is %s.", v.Resource, r.ProviderInstance)
	}
	where := strings.Join(slices.DeleteFunc([]string{v.Account, v.Region}, func(s string) bool { return s == "" }), ", ")
	if where != "" {
		where = " (" + where + ")"
	}
	return check("identity", fleet.Passed, "A single-use token of this instance was spent for the key %s, by %s%s as its provider's signature says; verified with a document of %s on %s.",
		fleet.ShortDigest(r.runner.KeyHash), v.Resource, where, v.Kind, v.Verified.UTC().Format(time.RFC3339))
}

// class keeps a host that was made for another class out of the one that the
// file names now: its trust and resources are those of its making.
func class(r *row) fleet.AdmissionCheck {
	if r.Class != r.fleet.Class.ID() {
		return check("class", fleet.Refused, "The host was made for another capacity class than %s is now.", r.fleet.Class.Name)
	}
	return check("class", fleet.Passed, "%s, trust %s.", r.fleet.Class.Name, r.fleet.Class.Trust)
}

func providerCrossCheck(r *row) fleet.AdmissionCheck {
	const name = "provider"
	if r.SeenAt.IsZero() {
		return check(name, fleet.Waiting, "No inspection has shown the resource yet.")
	}
	if r.Conflict != "" {
		return check(name, fleet.Suspicious, "%s", r.Conflict)
	}
	if r.Seen != fleet.ResourceRunning {
		return check(name, fleet.Waiting, "The provider shows %s as %s.", r.ProviderInstance, r.Seen)
	}
	var intent fleet.ProvisionIntent
	if err := json.Unmarshal(r.provision.Request, &intent); err != nil || intent.Image != "" && r.RunsImage != "" && intent.Image != r.RunsImage {
		return check(name, fleet.Suspicious, "The provider shows image %q, and %q was asked for.", r.RunsImage, intent.Image)
	}
	if r.fleet.Admission.MatchAddress {
		switch {
		case len(r.Addresses) == 0:
			return check(name, fleet.Waiting, "The provider doesn't show an address of %s yet.", r.ProviderInstance)
		case !slices.ContainsFunc(r.Addresses, func(a string) bool { return sameAddress(a, r.runner.Address) }):
			return check(name, fleet.Suspicious, "The agent called from %s, and the provider shows %s at %q.", r.runner.Address, r.ProviderInstance, r.Addresses)
		}
	}
	return check(name, fleet.Passed, "An inspection shows %s running; the agent called from %s.", r.ProviderInstance, r.runner.Address)
}

// sameAddress compares addresses by what they mean: IPv6 has many spellings.
func sameAddress(a, b string) bool {
	x, errX := netip.ParseAddr(a)
	y, errY := netip.ParseAddr(b)
	return errX == nil && errY == nil && x.Unmap() == y.Unmap()
}

func platform(r *row) fleet.AdmissionCheck {
	got, want := r.runner.Platform, r.fleet.Class.Platform
	if got != want {
		return check("platform", fleet.Refused, "The host is %s/%s, the class %s wants %s/%s.", got.OS, got.Arch, r.fleet.Class.Name, want.OS, want.Arch)
	}
	return check("platform", fleet.Passed, "%s/%s", got.OS, got.Arch)
}

func capabilities(r *row) fleet.AdmissionCheck {
	const name = "capabilities"
	var shown []string
	for _, c := range r.fleet.Class.Capabilities {
		if fleet.Attestable(c) {
			continue
		}
		probe, probed := r.runner.Report.Probes[c]
		switch {
		case !probed:
			return check(name, fleet.Waiting, "The host hasn't shown %q yet.", c)
		case !probe.OK:
			return check(name, fleet.Refused, "The host lacks %q: %s", c, probe.Evidence)
		}
		shown = append(shown, c+" ("+probe.Evidence+")")
	}
	if len(shown) == 0 {
		return check(name, fleet.Passed, "The class asks for none.")
	}
	return check(name, fleet.Passed, "%s", strings.Join(shown, ", "))
}

// attestation asks for the provider's word on what a host can't show by itself.
func attestation(r *row) fleet.AdmissionCheck {
	const name = "attestation"
	asked := r.fleet.Class.Attested()
	if len(asked) == 0 {
		return check(name, fleet.Passed, "The class asks for nothing that a provider must vouch for.")
	}
	for _, c := range asked {
		switch {
		case slices.Contains(r.Attested, c):
		case r.Seen != fleet.ResourceRunning:
			return check(name, fleet.Waiting, "No inspection has shown the running host yet.")
		default:
			return check(name, fleet.Refused, "The provider %s doesn't vouch for %q, and the word of the host alone doesn't count.", r.Provider, c)
		}
	}
	return check(name, fleet.Passed, "The provider vouches for %s.", strings.Join(asked, ", "))
}

func (l *Loop) version(r *row) fleet.AdmissionCheck {
	got, want := r.runner.AgentVersion, l.settings.AgentVersion
	if minorOf(got) != minorOf(want) {
		return check("version", fleet.Refused, "The agent is %s, this manager works with %s.", got, want)
	}
	return check("version", fleet.Passed, "Agent %s.", got)
}

// minorOf is the part of a version that must agree: "0.1" of "0.1.3-dev".
func minorOf(version string) string {
	parts := strings.SplitN(version, ".", 3)
	return strings.Join(parts[:min(2, len(parts))], ".")
}

func timeSanity(r *row) fleet.AdmissionCheck {
	if skew := r.runner.Skew.Abs(); skew > fleet.MaxClockSkew {
		return check("time", fleet.Waiting, "The host's clock is %s off; at most %s is allowed.", r.runner.Skew, fleet.MaxClockSkew)
	}
	// The exact skew changes with every beat and would be a write each time.
	return check("time", fleet.Passed, "The host's clock is within %s.", fleet.MaxClockSkew)
}

func health(r *row) fleet.AdmissionCheck {
	switch {
	case r.runner.Beats == 0:
		return check("health", fleet.Waiting, "No heartbeat yet.")
	case r.runner.Report.Unhealthy != "":
		return check("health", fleet.Waiting, "The agent says: %s", r.runner.Report.Unhealthy)
	}
	return check("health", fleet.Passed, "The agent beats and has no complaint.")
}

// jobIsolation asks for what the agent has shown with a job's own credentials. A
// host that was looked at and found open doesn't become safe by waiting.
func jobIsolation(r *row) fleet.AdmissionCheck {
	const name = "job isolation"
	report := r.runner.Report
	evidence := report.IsolationEvidence
	switch {
	case r.runner.Beats == 0:
		return check(name, fleet.Waiting, "No heartbeat yet.")
	case report.Isolation == agentapi.IsolationUser:
		return check(name, fleet.Passed, "%s", cmp.Or(evidence, "Jobs run as another user."))
	case r.fleet.Admission.JobIsolation == fleet.JobIsolationNone:
		return check(name, fleet.Passed, "The fleet asks for none.")
	case report.Isolation == agentapi.IsolationPending:
		return check(name, fleet.Waiting, "The agent hasn't shown yet whether jobs are isolated.")
	}
	return check(name, fleet.Refused, "%s; where jobs are yours, admission { job_isolation = \"none\" } admits the host all the same.", cmp.Or(evidence, "not isolated"))
}

// failedChecks names the checks of a verdict that ended in a result.
func failedChecks(a fleet.Admission, result fleet.CheckResult) string {
	var out []string
	for _, c := range a.Checks {
		if c.Result == result {
			out = append(out, c.Name+": "+c.Evidence)
		}
	}
	return strings.Join(out, " ")
}

// pendingChecks tells what a late admission was waiting for.
func pendingChecks(a fleet.Admission) string {
	if waiting := failedChecks(a, fleet.Waiting); waiting != "" {
		return "It was waiting for " + waiting
	}
	return ""
}
