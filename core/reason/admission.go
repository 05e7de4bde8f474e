package reason

import (
	"fmt"
	"strings"

	"github.com/forgeyard/forgeyard-fleet/core/reason/text"
)

// AdmissionPassed: every check of an instance's admission passed.
type AdmissionPassed struct {
	Checks int `json:"checks"`
}

// Text implements Detail.
func (d AdmissionPassed) Text() string {
	return fmt.Sprintf("all %d admission checks passed", d.Checks)
}

// AdmissionFailed: checks of an instance's admission failed.
type AdmissionFailed struct {
	Checks List[CheckResult] `json:"checks"`
}

// Text implements Detail.
func (d AdmissionFailed) Text() string { return checksText(d.Checks) }

// TokenUsedTwice: an enrollment token was used with two keys.
type TokenUsedTwice struct {
	Message string `json:"message"`
}

// Text implements Detail.
func (d TokenUsedTwice) Text() string {
	return "the enrollment token was used with two keys: " + text.Clause(d.Message)
}

// CertificateRevoked: a runner's certificate was revoked.
type CertificateRevoked struct{}

// Text implements Detail.
func (CertificateRevoked) Text() string { return "the certificate was revoked" }

// TokenOfOtherInstance: a token was used on another instance than it was made for.
type TokenOfOtherInstance struct {
	Operation string `json:"operation"`
	Key       string `json:"key"`
}

// Text implements Detail.
func (d TokenOfOtherInstance) Text() string {
	return fmt.Sprintf("the token of operation %s was used on the instance of %s", d.Operation, d.Key)
}

// IdentityMissing: an agent enrolled without evidence of its host, which its fleet asks for.
type IdentityMissing struct{}

// Text implements Detail.
func (IdentityMissing) Text() string {
	return "the agent enrolled without a signed identity document, which the fleet now requires"
}

// IdentityDiffers: an agent proved to be on another host than the instance's.
type IdentityDiffers struct {
	Enrolled string `json:"enrolled"`
	Resource string `json:"resource"`
}

// Text implements Detail.
func (d IdentityDiffers) Text() string {
	return fmt.Sprintf("the agent enrolled as %s, and the instance is %s", d.Enrolled, d.Resource)
}

// IdentityProven: an agent used the instance's own token.
type IdentityProven struct {
	// Key is the beginning of the digest of the agent's key.
	Key string `json:"key"`
	// Resource is what its host proved to be with a document of a kind; left out: nothing was
	// asked for.
	Resource string  `json:"resource,omitempty"`
	Account  string  `json:"account,omitempty"`
	Region   string  `json:"region,omitempty"`
	Kind     string  `json:"kind,omitempty"`
	Verified Instant `json:"verified,omitempty"`
}

// Text implements Detail.
func (d IdentityProven) Text() string {
	said := "the instance's single-use token was used for key " + d.Key
	if d.Resource == "" {
		return said
	}
	var where []string
	for _, part := range []string{d.Account, d.Region} {
		if part != "" {
			where = append(where, part)
		}
	}
	return fmt.Sprintf("%s by %s%s, verified with a document of %s on %s", said, d.Resource,
		text.Comment(strings.Join(where, ", ")), d.Kind, text.Moment(d.Verified.Time()))
}

// HostOfOtherClass: a host was made for another capacity class than its fleet has now.
type HostOfOtherClass struct {
	Class string `json:"class"`
}

// Text implements Detail.
func (d HostOfOtherClass) Text() string {
	return fmt.Sprintf("the host was created for another capacity class than %s is now", d.Class)
}

// ClassMatches: a host was made for its fleet's class.
type ClassMatches struct {
	Class string `json:"class"`
	Trust string `json:"trust"`
}

// Text implements Detail.
func (d ClassMatches) Text() string { return fmt.Sprintf("%s, trust %s", d.Class, d.Trust) }

// ResourceNotShown: no inspection has shown an instance's resource running.
type ResourceNotShown struct {
	// Resource and State are what was shown; left out: nothing.
	Resource string `json:"resource,omitempty"`
	State    string `json:"state,omitempty"`
	// Address says that the resource runs, and its address isn't shown.
	Address bool `json:"address,omitempty"`
}

// Text implements Detail.
func (d ResourceNotShown) Text() string {
	switch {
	case d.Resource == "":
		return "no inspection has shown the host yet"
	case d.Address:
		return fmt.Sprintf("the provider shows no address of %s yet", d.Resource)
	}
	return fmt.Sprintf("the provider shows %s as %s", d.Resource, d.State)
}

// ImageDiffers: a provider shows another image than was asked for.
type ImageDiffers struct {
	Shown    string `json:"shown"`
	Required string `json:"required"`
}

// Text implements Detail.
func (d ImageDiffers) Text() string {
	return fmt.Sprintf("the provider shows image %s, and %s was requested", text.Quote(d.Shown), text.Quote(d.Required))
}

// AddressDiffers: an agent called from another address than its host has.
type AddressDiffers struct {
	Called    string       `json:"called"`
	Resource  string       `json:"resource"`
	Addresses List[string] `json:"addresses"`
}

// Text implements Detail.
func (d AddressDiffers) Text() string {
	return fmt.Sprintf("the agent called from %s, and the provider shows %s at %s", d.Called, d.Resource,
		text.List(d.Addresses.parts(text.Quote)))
}

// ResourceConfirmed: an inspection shows an instance's resource running.
type ResourceConfirmed struct {
	Resource string `json:"resource"`
	// Called is where the agent called from.
	Called string `json:"called"`
}

// Text implements Detail.
func (d ResourceConfirmed) Text() string {
	return fmt.Sprintf("an inspection shows %s running; the agent called from %s", d.Resource, d.Called)
}

// PlatformDiffers: a host is of another platform than its class wants.
type PlatformDiffers struct {
	Has      string `json:"has"`
	Class    string `json:"class"`
	Required string `json:"required"`
}

// Text implements Detail.
func (d PlatformDiffers) Text() string {
	return fmt.Sprintf("the host is %s, and class %s requires %s", d.Has, d.Class, d.Required)
}

// PlatformMatches: a host is of its class's platform.
type PlatformMatches struct {
	Platform string `json:"platform"`
}

// Text implements Detail.
func (d PlatformMatches) Text() string { return d.Platform }

// CapabilityNotShown: a host hasn't shown a capability yet.
type CapabilityNotShown struct {
	Capability string `json:"capability"`
}

// Text implements Detail.
func (d CapabilityNotShown) Text() string {
	return fmt.Sprintf("the host has not shown %s yet", text.Quote(d.Capability))
}

// CapabilityMissing: a host lacks a capability.
type CapabilityMissing struct {
	Capability string `json:"capability"`
	// Message is what its agent found.
	Message string `json:"message,omitempty"`
}

// Text implements Detail.
func (d CapabilityMissing) Text() string {
	return fmt.Sprintf("the host lacks %s%s", text.Quote(d.Capability), text.Comment(text.Clause(d.Message)))
}

// Capability is one that a host showed, with what its agent found.
type Capability struct {
	Name    string `json:"name"`
	Message string `json:"message,omitempty"`
}

func (c Capability) text() string { return c.Name + text.Comment(text.Clause(c.Message)) }

// CapabilitiesShown: a host has the capabilities of its class.
type CapabilitiesShown struct {
	Capabilities List[Capability] `json:"capabilities"`
}

// Text implements Detail.
func (d CapabilitiesShown) Text() string {
	if d.Capabilities.Len() == 0 {
		return "the class requires none"
	}
	return strings.Join(d.Capabilities.parts(Capability.text), ", ")
}

// AttestationMissing: a provider doesn't vouch for a capability that a host can't show itself.
type AttestationMissing struct {
	Provider   string `json:"provider"`
	Capability string `json:"capability"`
}

// Text implements Detail.
func (d AttestationMissing) Text() string {
	return fmt.Sprintf("provider %s does not attest %s, and the host's own statement does not count", d.Provider,
		text.Quote(d.Capability))
}

// Attested: a provider vouches for what a host can't show itself.
type Attested struct {
	Capabilities List[string] `json:"capabilities"`
}

// Text implements Detail.
func (d Attested) Text() string {
	if d.Capabilities.Len() == 0 {
		return "the class requires nothing that a provider must attest"
	}
	return "the provider attests " + text.List(d.Capabilities.parts(func(name string) string { return name }))
}

// AgentVersionDiffers: an agent is of a version that the manager doesn't work with.
type AgentVersionDiffers struct {
	Has      string `json:"has"`
	Required string `json:"required"`
}

// Text implements Detail.
func (d AgentVersionDiffers) Text() string {
	return fmt.Sprintf("the agent is %s, and this manager requires %s", d.Has, d.Required)
}

// AgentVersionMatches: an agent is of a version that the manager works with.
type AgentVersionMatches struct {
	Version string `json:"version"`
}

// Text implements Detail.
func (d AgentVersionMatches) Text() string { return "agent " + d.Version }

// ClockDiffers: a host's clock is too far off.
type ClockDiffers struct {
	By    Duration `json:"by"`
	Limit Duration `json:"limit"`
}

// Text implements Detail.
func (d ClockDiffers) Text() string {
	return fmt.Sprintf("the host's clock is off by %s, and at most %s is allowed", d.By, d.Limit)
}

// ClockMatches: a host's clock is near enough.
type ClockMatches struct {
	Limit Duration `json:"limit"`
}

// Text implements Detail.
func (d ClockMatches) Text() string { return "the host's clock is within " + d.Limit.String() }

// NoHeartbeat: an agent has sent no heartbeat yet.
type NoHeartbeat struct{}

// Text implements Detail.
func (NoHeartbeat) Text() string { return "no heartbeat yet" }

// AgentHealthy: an agent sends heartbeats and reports nothing wrong.
type AgentHealthy struct{}

// Text implements Detail.
func (AgentHealthy) Text() string { return "the agent sends heartbeats and reports no problem" }

// JobsIsolated: a host runs jobs as another user.
type JobsIsolated struct {
	// Message is what its agent showed.
	Message string `json:"message,omitempty"`
}

// Text implements Detail.
func (d JobsIsolated) Text() string {
	if d.Message == "" {
		return "jobs run as another user"
	}
	return text.Clause(d.Message)
}

// IsolationNotRequired: a fleet doesn't ask for isolated jobs.
type IsolationNotRequired struct{}

// Text implements Detail.
func (IsolationNotRequired) Text() string { return "the fleet requires none" }

// IsolationNotShown: an agent hasn't shown yet whether jobs are isolated.
type IsolationNotShown struct{}

// Text implements Detail.
func (IsolationNotShown) Text() string {
	return "the agent has not shown yet whether jobs are isolated"
}

// JobsNotIsolated: jobs on a host aren't isolated from its agent.
type JobsNotIsolated struct {
	// Message is what its agent found.
	Message string `json:"message,omitempty"`
}

// Text implements Detail.
func (d JobsNotIsolated) Text() string {
	found := "jobs are not isolated"
	if d.Message != "" {
		found = text.Clause(d.Message)
	}
	return found + `; if you trust the jobs, admission { job_isolation = "none" } admits the host`
}

var admissionReasons = []Detail{
	AdmissionPassed{10},
	AdmissionFailed{ListOf(CheckResult{"platform", Of(PlatformDiffers{"linux/arm64", "linux", "linux/amd64"})})},
	TokenUsedTwice{"from 192.0.2.7 and 192.0.2.8"},
	CertificateRevoked{},
	TokenOfOtherInstance{"01k7", "01k8"},
	IdentityMissing{},
	IdentityDiffers{"i-2", "i-1"},
	IdentityProven{"3f2a", "i-1", "111", "us-east-1", "aws", exampleInstant},
	HostOfOtherClass{"linux"},
	ClassMatches{"linux", "trusted"},
	ResourceNotShown{Resource: "i-1", State: "pending"},
	ImageDiffers{"ami-2", "ami-1"},
	AddressDiffers{"192.0.2.7", "i-1", ListOf("192.0.2.8")},
	ResourceConfirmed{"i-1", "192.0.2.7"},
	PlatformDiffers{"linux/arm64", "linux", "linux/amd64"},
	PlatformMatches{"linux/amd64"},
	CapabilityNotShown{"docker"},
	CapabilityMissing{"docker", "docker: not found"},
	CapabilitiesShown{ListOf(Capability{"docker", "version 28.1"})},
	AttestationMissing{"aws.virginia", "sev"},
	Attested{ListOf("sev")},
	AgentVersionDiffers{"0.1.0", "0.2.0"},
	AgentVersionMatches{"0.2.0"},
	ClockDiffers{Duration(10 * 60e9), exampleMinute},
	ClockMatches{exampleMinute},
	NoHeartbeat{},
	AgentHealthy{},
	JobsIsolated{"job user forgeyard-job cannot read the agent's key"},
	IsolationNotRequired{},
	IsolationNotShown{},
	JobsNotIsolated{"the agent does not run as root"},
}
