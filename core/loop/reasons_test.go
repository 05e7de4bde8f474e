package loop

import (
	"reflect"
	"slices"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/reason"
)

// matches says that a reason is of a kind, with those parameters that are given.
func matches(r reason.Reason, want reason.Detail) bool {
	got, asked := reflect.ValueOf(r.Params), reflect.ValueOf(want)
	if r.IsZero() || want == nil || got.Type() != asked.Type() {
		return r.IsZero() && want == nil
	}
	for n := range asked.NumField() {
		if !asked.Field(n).IsZero() && !got.Field(n).Equal(asked.Field(n)) {
			return false
		}
	}
	return true
}

// doubtOf is why a resource isn't proven to be an instance's, or the conflict as it is.
func doubtOf(conflict reason.Reason) reason.Reason {
	if d, ok := reason.As[reason.OwnershipDoubtful](conflict); ok {
		return d.Because
	}
	return conflict
}

// failedFor says that an admission failed for a check with what it found.
func failedFor(r reason.Reason, want reason.Detail) bool {
	if want == nil {
		return true
	}
	failed, ok := reason.As[reason.AdmissionFailed](r)
	return ok &&
		slices.ContainsFunc(failed.Checks.Items(), func(c reason.CheckResult) bool { return matches(c.Found, want) })
}

// deadlinePassed says that the reason is a state that was over its limit.
func deadlinePassed(r reason.Reason, limit time.Duration) bool {
	d, ok := reason.As[reason.StateDeadline](r)
	return ok && d.Limit == reason.Duration(limit)
}

// announces says that a move is for an announcement with that message.
func announces(r reason.Reason, message string) bool {
	d, ok := reason.As[reason.InterruptionMove](r)
	return ok && d.Notice.Message == message
}
