package loop

import (
	"encoding/json"
	"net/netip"
	"reflect"
	"slices"
	"strings"

	"github.com/forgeyard/forgeyard-fleet/core/agentapi"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/lifecycle"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
)

// admit checks the agents that have enrolled (spec §70). Until every check passed a
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
			w.move(r, fleet.Healthy, lifecycle.AdmissionGranted, reason.AdmissionPassed{Checks: len(verdict.Checks)})
		case fleet.AdmissionQuarantined:
			w.move(
				r,
				fleet.Quarantined,
				lifecycle.EvidenceFailed,
				reason.AdmissionFailed{Checks: checksWith(verdict, fleet.Suspicious)},
			)
		case fleet.AdmissionRejected:
			w.move(
				r,
				fleet.Failed,
				lifecycle.AdmissionRefused,
				reason.AdmissionFailed{Checks: checksWith(verdict, fleet.Refused)},
			)
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

func check(name string, result fleet.CheckResult, found reason.Detail) fleet.AdmissionCheck {
	return fleet.AdmissionCheck{Name: name, Result: result, Evidence: reason.Of(found)}
}

func identity(r *row) fleet.AdmissionCheck {
	switch {
	case r.runner.Tampered:
		return check("identity", fleet.Suspicious, reason.TokenUsedTwice{Message: r.runner.Alert})
	case !r.runner.Revoked.IsZero():
		return check("identity", fleet.Refused, reason.CertificateRevoked{})
	case r.runner.Operation != r.Key:
		return check(
			"identity",
			fleet.Suspicious,
			reason.TokenOfOtherInstance{Operation: string(r.runner.Operation), Key: string(r.Key)},
		)
	}
	if r.fleet.Admission.RequiresIdentity() || r.provision.Batch.Key != "" {
		return verifiedIdentity(r)
	}
	return check("identity", fleet.Passed, reason.IdentityProven{Key: fleet.ShortDigest(r.runner.KeyHash)})
}

// verifiedIdentity holds the evidence that the agent enrolled with against the
// resource that the instance has now.
func verifiedIdentity(r *row) fleet.AdmissionCheck {
	v := r.runner.Identity
	switch {
	case v.Resource == "":
		return check("identity", fleet.Refused, reason.IdentityMissing{})
	case v.Resource != r.ProviderInstance:
		return check(
			"identity",
			fleet.Suspicious,
			reason.IdentityDiffers{Enrolled: string(v.Resource), Resource: string(r.ProviderInstance)},
		)
	}
	return check("identity", fleet.Passed, reason.IdentityProven{
		Key: fleet.ShortDigest(
			r.runner.KeyHash,
		),
		Resource: string(v.Resource),
		Account:  v.Account,
		Region:   v.Region,
		Kind:     v.Kind,
		Verified: reason.At(v.Verified),
	})
}

// class keeps a host that was made for another class out of the one that the
// file names now: its trust and resources are those of its making.
func class(r *row) fleet.AdmissionCheck {
	if r.Class != r.fleet.Class.ID() {
		return check("class", fleet.Refused, reason.HostOfOtherClass{Class: r.fleet.Class.Name})
	}
	return check("class", fleet.Passed, reason.ClassMatches{Class: r.fleet.Class.Name, Trust: r.fleet.Class.Trust})
}

func providerCrossCheck(r *row) fleet.AdmissionCheck {
	const name = "provider"
	if r.SeenAt.IsZero() {
		return check(name, fleet.Waiting, reason.ResourceNotShown{})
	}
	if !r.Conflict.IsZero() {
		return check(name, fleet.Suspicious, r.Conflict.Params)
	}
	if r.Seen != fleet.ResourceRunning {
		return check(
			name,
			fleet.Waiting,
			reason.ResourceNotShown{Resource: string(r.ProviderInstance), State: string(r.Seen)},
		)
	}
	var intent fleet.ProvisionIntent
	if err := json.Unmarshal(
		r.provision.Request,
		&intent,
	); err != nil ||
		intent.Image != "" && r.RunsImage != "" && intent.Image != r.RunsImage {
		return check(name, fleet.Suspicious, reason.ImageDiffers{Shown: r.RunsImage, Required: intent.Image})
	}
	if r.fleet.Admission.MatchAddress {
		switch {
		case len(r.Addresses) == 0:
			return check(name, fleet.Waiting, reason.ResourceNotShown{Resource: string(r.ProviderInstance), Address: true})
		case !slices.ContainsFunc(r.Addresses, func(a string) bool { return sameAddress(a, r.runner.Address) }):
			return check(name, fleet.Suspicious, reason.AddressDiffers{
				Called: r.runner.Address, Resource: string(r.ProviderInstance), Addresses: reason.ListOf(r.Addresses...),
			})
		}
	}
	return check(
		name,
		fleet.Passed,
		reason.ResourceConfirmed{Resource: string(r.ProviderInstance), Called: r.runner.Address},
	)
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
		return check(
			"platform",
			fleet.Refused,
			reason.PlatformDiffers{Has: got.String(), Class: r.fleet.Class.Name, Required: want.String()},
		)
	}
	return check("platform", fleet.Passed, reason.PlatformMatches{Platform: got.String()})
}

func capabilities(r *row) fleet.AdmissionCheck {
	const name = "capabilities"
	var shown []reason.Capability
	for _, c := range r.fleet.Class.Capabilities {
		if fleet.Attestable(c) {
			continue
		}
		probe, probed := r.runner.Report.Probes[c]
		switch {
		case !probed:
			return check(name, fleet.Waiting, reason.CapabilityNotShown{Capability: c})
		case !probe.OK:
			return check(name, fleet.Refused, reason.CapabilityMissing{Capability: c, Message: probe.Evidence})
		}
		shown = append(shown, reason.Capability{Name: c, Message: probe.Evidence})
	}
	return check(name, fleet.Passed, reason.CapabilitiesShown{Capabilities: reason.ListOf(shown...)})
}

// attestation asks for the provider's word on what a host can't show by itself.
func attestation(r *row) fleet.AdmissionCheck {
	const name = "attestation"
	asked := r.fleet.Class.Attested()
	for _, c := range asked {
		switch {
		case slices.Contains(r.Attested, c):
		case r.Seen != fleet.ResourceRunning:
			return check(name, fleet.Waiting, reason.ResourceNotShown{})
		default:
			return check(name, fleet.Refused, reason.AttestationMissing{Provider: string(r.Provider), Capability: c})
		}
	}
	return check(name, fleet.Passed, reason.Attested{Capabilities: reason.ListOf(asked...)})
}

func (l *Loop) version(r *row) fleet.AdmissionCheck {
	got, want := r.runner.AgentVersion, l.settings.AgentVersion
	if minorOf(got) != minorOf(want) {
		return check("version", fleet.Refused, reason.AgentVersionDiffers{Has: got, Required: want})
	}
	return check("version", fleet.Passed, reason.AgentVersionMatches{Version: got})
}

// minorOf is the part of a version that must agree: "0.1" of "0.1.3-dev".
func minorOf(version string) string {
	parts := strings.SplitN(version, ".", 3)
	return strings.Join(parts[:min(2, len(parts))], ".")
}

func timeSanity(r *row) fleet.AdmissionCheck {
	if skew := r.runner.Skew.Abs(); skew > fleet.MaxClockSkew {
		return check(
			"time",
			fleet.Waiting,
			reason.ClockDiffers{By: reason.Duration(r.runner.Skew), Limit: reason.Duration(fleet.MaxClockSkew)},
		)
	}
	// The exact skew changes with every beat and would be a write each time.
	return check("time", fleet.Passed, reason.ClockMatches{Limit: reason.Duration(fleet.MaxClockSkew)})
}

func health(r *row) fleet.AdmissionCheck {
	switch {
	case r.runner.Beats == 0:
		return check("health", fleet.Waiting, reason.NoHeartbeat{})
	case r.runner.Report.Unhealthy != "":
		return check("health", fleet.Waiting, reason.AgentUnhealthy{Message: r.runner.Report.Unhealthy})
	}
	return check("health", fleet.Passed, reason.AgentHealthy{})
}

// jobIsolation asks for what the agent has shown with a job's own credentials. A
// host that was looked at and found open doesn't become safe by waiting.
func jobIsolation(r *row) fleet.AdmissionCheck {
	const name = "job_isolation"
	report := r.runner.Report
	evidence := report.IsolationEvidence
	switch {
	case r.runner.Beats == 0:
		return check(name, fleet.Waiting, reason.NoHeartbeat{})
	case report.Isolation == agentapi.IsolationUser:
		return check(name, fleet.Passed, reason.JobsIsolated{Message: evidence})
	case r.fleet.Admission.JobIsolation == fleet.JobIsolationNone:
		return check(name, fleet.Passed, reason.IsolationNotRequired{})
	case report.Isolation == agentapi.IsolationPending:
		return check(name, fleet.Waiting, reason.IsolationNotShown{})
	}
	return check(name, fleet.Refused, reason.JobsNotIsolated{Message: evidence})
}

// checksWith are the checks of a verdict that ended in a result.
func checksWith(a fleet.Admission, result fleet.CheckResult) reason.List[reason.CheckResult] {
	var found []reason.CheckResult
	for _, c := range a.Checks {
		if c.Result == result {
			found = append(found, reason.CheckResult{Check: c.Name, Found: c.Evidence})
		}
	}
	return reason.ListOf(found...)
}
