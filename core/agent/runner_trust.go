package agent

import (
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/agentapi"
)

// trustRetry is how long a new trust that failed isn't tried.
const trustRetry = time.Minute

// tryTrust begins to know the manager as it says that it should be known from now
// on. The old trust is kept beside it until a call under the new one succeeded: a
// manager that is wrong about itself must not lock its agents out.
func (r *runner) tryTrust(t agentapi.Trust) {
	record := &r.identity.record
	if t == record.Trust || record.Before != nil || time.Now().Before(r.trustNotBefore) {
		return
	}
	before := record.Trust
	r.Logger.Info(
		"the manager has a new authority; trying it",
		"ca_fingerprint",
		t.CAFingerprint,
		"server_name",
		t.ServerName,
	)
	r.keepTrust(t, &before)
	r.client.trust(t)
	r.heartbeatDue = time.Now()
}

// finishTrustTrial ends the trial of a new trust, if there is one, by how the first
// call under it went.
func (r *runner) finishTrustTrial(err error) {
	before := r.identity.record.Before
	switch {
	case before == nil:
	case managerAnswered(err):
		r.Logger.Info("the new authority works; the old one is no longer trusted")
		r.keepTrust(r.identity.record.Trust, nil)
	default:
		r.Logger.Warn("the manager could not be reached under its new authority; using the old one for now", "error", err)
		r.trustNotBefore = time.Now().Add(trustRetry)
		r.keepTrust(*before, nil)
		r.client.trust(*before)
	}
}

// managerAnswered says whether the manager answered a call, be it with a refusal.
func managerAnswered(err error) bool { return err == nil || hasProblem(err) }

// keepTrust stores a trust before it is used, so that an agent that is killed at
// any moment still knows its manager.
func (r *runner) keepTrust(t agentapi.Trust, before *agentapi.Trust) {
	r.identity.record.Trust, r.identity.record.Before = t, before
	if err := writeStateJSON(r.identity.recordPath, r.identity.record); err != nil {
		r.Logger.Warn(
			"could not store the manager's authority; the manager sends it again after the next start",
			"error",
			err,
		)
	}
}
