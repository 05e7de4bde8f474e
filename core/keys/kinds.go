package keys

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/pki"
	"github.com/forgeyard/forgeyard-fleet/core/snapshot"
)

// keyKinds are all kinds of keys that an installation has. Another kind is one
// more function here: its file is made, its ids remembered, and it is listed,
// rotated and deleted like the others.
func (k *Keyrings) keyKinds() []keyKind {
	return []keyKind{k.authorityKeys(), k.enrollmentKeys(), k.ownershipKeys()}
}

// authorityKeys sign the manager's and the agents' certificates.
func (k *Keyrings) authorityKeys() keyKind {
	return keyKind{
		name:    "authority",
		file:    pki.AuthorityFile,
		purpose: "signs the certificates of the manager and of agents; hosts and API clients pin it",
		replaces: "new hosts pin the new authority, running agents change to it with their next heartbeats, and API " +
			"clients need its fingerprint in FLEET_SERVER_CA from now on",
		load: func(path string) (namedKey, error) {
			return pki.LoadAuthorityFile(path, k.options.Installation, k.options.Clock())
		},
		use: func(newest namedKey, older []namedKey) error {
			k.Authorities.Use(newest.(*pki.Authority), typed[*pki.Authority](older)...)
			return nil
		},
		needs: func(old namedKey, s snapshot.State, _ time.Time) []string {
			return authorityNeeded(old.(*pki.Authority), s)
		},
	}
}

// authorityNeeded names the instances whose agent knows the manager by an old
// authority, has a certificate of it, or will boot with its fingerprint.
func authorityNeeded(old *pki.Authority, s snapshot.State) (needed []string) {
	runners := map[fleet.CapacityInstanceID]fleet.Runner{}
	for _, r := range s.Runners {
		runners[r.Instance] = r
	}
	pins := map[fleet.CapacityInstanceID]bool{}
	for _, op := range s.Operations {
		var intent fleet.ProvisionIntent
		// A request that can't be read pins whatever it may pin.
		if op.Kind == fleet.ProvisionOperation &&
			(json.Unmarshal(op.Request, &intent) != nil || intent.Bootstrap.CAFingerprint == old.Fingerprint()) {
			pins[op.Instance] = true
		}
	}
	for _, i := range s.Instances {
		r, enrolled := runners[i.ID]
		switch {
		case enrolled && (r.Authority == "" || r.Authority == old.KeyID()):
			needed = append(needed, fmt.Sprintf("the agent of instance %s hasn't called under another authority yet", i.ID))
		case enrolled && (r.Issuer == "" || r.Issuer == old.KeyID()):
			needed = append(needed, fmt.Sprintf("the agent of instance %s has a certificate of it until it renews", i.ID))
		case !enrolled && pins[i.ID] && mayStillEnroll(i.State):
			needed = append(needed, fmt.Sprintf("the host of instance %s boots with its fingerprint", i.ID))
		}
	}
	return needed
}

// enrollmentKeys make the hosts' single-use tokens.
func (k *Keyrings) enrollmentKeys() keyKind {
	return keyKind{
		name: "enrollment", file: pki.EnrollmentKeyFile,
		purpose:  "makes the single-use tokens with which hosts enroll",
		replaces: "tokens of new hosts are made with the new key; those that were made before are good until they expire",
		load:     func(path string) (namedKey, error) { return pki.LoadTokenKey(path) },
		use: func(newest namedKey, older []namedKey) error {
			k.Enrollment.Use(newest.(*pki.TokenKey), typed[*pki.TokenKey](older)...)
			return nil
		},
		needs: func(old namedKey, s snapshot.State, now time.Time) []string {
			return enrollmentKeyNeeded(old.(*pki.TokenKey), s, now)
		},
	}
}

// enrollmentKeyNeeded names the instances whose token was made with an old key and
// is still good.
func enrollmentKeyNeeded(old *pki.TokenKey, s snapshot.State, now time.Time) (needed []string) {
	states := map[fleet.CapacityInstanceID]fleet.CapacityInstanceState{}
	keys := map[fleet.CapacityInstanceID]fleet.OperationID{}
	for _, i := range s.Instances {
		states[i.ID], keys[i.ID] = i.State, i.Key
	}
	for _, op := range s.Operations {
		// The token of a request that hasn't gone out has no end yet.
		good := op.TokenExpires.IsZero() || now.Before(op.TokenExpires)
		over := states[op.Instance] == fleet.Failed || states[op.Instance] == fleet.Terminating
		if op.Kind == fleet.ProvisionOperation && good && !over && old.Made(op) {
			until := "until it is sent and expires"
			if !op.TokenExpires.IsZero() {
				until = "until " + op.TokenExpires.UTC().Format(time.RFC3339)
			}
			needed = append(needed, fmt.Sprintf("the token of instance %s was made with it and is good %s", op.Instance, until))
		}
	}
	for _, c := range s.Claims {
		// The token of a host that a person joins is the claim's, not the operation's.
		op := fleet.Operation{ID: keys[c.Instance], Nonce: c.Nonce, TokenHash: c.TokenHash}
		if now.Before(c.Expires) && old.Made(op) {
			needed = append(
				needed,
				fmt.Sprintf(
					"the line that joins the host %s was made with it and is good until %s",
					c.Asset,
					c.Expires.UTC().Format(time.RFC3339),
				),
			)
		}
	}
	return needed
}

// mayStillEnroll says whether a host in this state may yet show up for the first
// time.
func mayStillEnroll(s fleet.CapacityInstanceState) bool {
	switch s {
	case fleet.Requested, fleet.Provisioning, fleet.Bootstrapping, fleet.Enrolling:
		return true
	}
	return false
}

func typed[K namedKey](keys []namedKey) (out []K) {
	for _, k := range keys {
		out = append(out, k.(K))
	}
	return out
}
