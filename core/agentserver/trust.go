package agentserver

import (
	"net/http"

	"github.com/forgeyard/forgeyard-fleet/core/agentapi"
	"github.com/forgeyard/forgeyard-fleet/core/pki"
)

// pinnedAuthority is the id of the key of the authority that the caller pins, by the
// server name that it asked for; "": it asked for none of ours.
func pinnedAuthority(authorities *pki.AuthoritySet, r *http.Request) string {
	if r.TLS != nil {
		if one, found := authorities.ByServerName(r.TLS.ServerName); found {
			return one.KeyID()
		}
	}
	return ""
}

// newerTrust is what a caller that pins an older authority should pin from now
// on; nil: it pins the newest.
func newerTrust(authorities *pki.AuthoritySet, r *http.Request) *agentapi.Trust {
	signing := authorities.Signing()
	if pinnedAuthority(authorities, r) == signing.KeyID() {
		return nil
	}
	return &agentapi.Trust{CAFingerprint: signing.Fingerprint(), ServerName: signing.ServerName()}
}
