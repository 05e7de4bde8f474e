//go:build unix

package agent

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/agentapi"
)

func TestNewTrustIsKeptOnlyAfterACallSucceeded(t *testing.T) {
	old, offered := agentapi.Trust{}, agentapi.Trust{CAFingerprint: "sha256:new", ServerName: "new.example"}
	for _, c := range []struct {
		name string
		// works says that the manager is known under the offered trust.
		works bool
		// begun says that the agent was killed while it tried it.
		begun bool
		want  agentapi.Trust
	}{
		{"it works", true, false, offered},
		{"it works after the agent was killed in between", true, true, offered},
		{"it doesn't", false, false, old},
		{"it doesn't after the agent was killed in between", false, true, old},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newJobHost(t)
			m := &playedManager{
				t:         t,
				directive: agentapi.Directive{Want: agentapi.WantWait},
				next:      10 * time.Millisecond,
				trust:     &offered,
			}
			r := h.against(m)
			r.client.config.TLS = func(trust agentapi.Trust, _ bool) *tls.Config {
				return &tls.Config{InsecureSkipVerify: true, VerifyConnection: func(tls.ConnectionState) error {
					if trust == offered && !c.works {
						return errors.New("this is somebody else")
					}
					return nil
				}}
			}
			path := filepath.Join(t.TempDir(), "runner.json")
			r.identity.recordPath = path
			if c.begun {
				r.identity.record.Trust, r.identity.record.Before = offered, &old
				r.client.trust(offered)
			}
			end := h.begin(r)
			m.eventually("the agent keeps beating", func() bool { return len(m.beats) > 10 })
			if err := end(); err != nil {
				t.Fatal(err)
			}
			content, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			var stored identityRecord
			if err := json.Unmarshal(content, &stored); err != nil {
				t.Fatal(err)
			}
			if stored.Trust != c.want || stored.Before != nil {
				t.Errorf("stored is %+v with %+v before, want %+v", stored.Trust, stored.Before, c.want)
			}
		})
	}
}
