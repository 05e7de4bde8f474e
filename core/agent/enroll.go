package agent

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/agent/metadata"
	"github.com/forgeyard/forgeyard-fleet/core/agentapi"
)

// untrustedTries is how often something else than the manager may answer before
// the agent gives up: a network that comes up may show a portal first.
const untrustedTries = 5

// enroll spends the token, trying until the manager takes it or refuses for good.
// It tells after how long the certificate should be renewed.
func enroll(ctx context.Context, c Config, k *client, i *identity, m *metadata.Client) (time.Duration, error) {
	csr, err := i.request()
	if err != nil {
		return 0, err
	}
	untrusted := 0
	for failures := 1; ; failures++ {
		var answer agentapi.EnrollResponse
		shown, err := m.Evidence(ctx)
		if err != nil {
			c.Logger.Warn("no identity document for this host; the manager may refuse it", "error", err)
		}
		err = k.call(ctx, agentapi.EnrollPath, agentapi.EnrollRequest{
			Token:        c.Token,
			CSR:          csr,
			Clock:        c.Now().UTC(),
			AgentVersion: c.Version,
			OS:           runtime.GOOS,
			Arch:         runtime.GOARCH,
			Evidence:     shown,
		}, &answer)
		if err == nil {
			if err = i.keepEnrollment(answer, c.Now()); err == nil {
				c.Logger.Info("enrolled", "runner", answer.RunnerID)
				return seconds(answer.RenewAfterSeconds), nil
			}
		}
		if reaction, refused := reactionTo(err); reaction != agentapi.TryAgain {
			return 0, fmt.Errorf("enroll this host: %w", refused)
		}
		var wrongManager *UntrustedManagerError
		if errors.As(err, &wrongManager) {
			if untrusted++; untrusted >= untrustedTries {
				return 0, fmt.Errorf("enroll this host: %w", err)
			}
		}
		wait := c.Retry.Jittered(failures, c.Random())
		c.Logger.Warn("enrollment failed; trying again", "error", err, "next_try_in", wait.String())
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

// seconds is a duration that the manager told, at least one second.
func seconds(n int64) time.Duration { return time.Duration(max(1, n)) * time.Second }
