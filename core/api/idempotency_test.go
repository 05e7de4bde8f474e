package api

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/access"
	"github.com/forgeyard/forgeyard-fleet/core/plans"
)

// counted is a service that counts its applies and lets them wait.
type counted struct {
	*service
	applies atomic.Int64
	gate    chan struct{}
	fails   atomic.Bool
}

func (c *counted) Apply(context.Context, plans.Submission, plans.Approval) (plans.Receipt, error) {
	<-c.gate
	n := c.applies.Add(1)
	if c.fails.Load() {
		return plans.Receipt{}, errors.New("no")
	}
	return plans.Receipt{Serial: n, Changed: true}, nil
}

func TestTheSameApplyWithTheSameKeyIsCarriedOutOnce(t *testing.T) {
	s := &counted{service: lab(), gate: make(chan struct{})}
	h := handler(s, tokens{secret: everything, "other": {Name: "token other", Permissions: access.AllPermissions()}})
	send := func(key, token, serial string) *httptest.ResponseRecorder {
		r := ask("POST", "/v1/apply", applyBody(serial))
		r.Header.Set("Authorization", "Bearer "+token)
		r.Header.Set("Idempotency-Key", key)
		return answerTo(h, r)
	}
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			if w := send("k", secret, "7"); w.Code != 200 || !strings.Contains(w.Body.String(), `"serial":1`) {
				t.Errorf("got %d %s", w.Code, w.Body)
			}
		})
	}
	close(s.gate)
	wait.Wait()
	if w := send("k", secret, "8"); w.Code != http.StatusConflict {
		t.Errorf("another request with the key: %d", w.Code)
	}
	if w := send("k", "other", "7"); w.Code != 200 || !strings.Contains(w.Body.String(), `"serial":2`) {
		t.Errorf("another caller's key: %d %s", w.Code, w.Body)
	}
	s.fails.Store(true)
	if w := send("f", secret, "7"); w.Code != 500 {
		t.Errorf("a failure: %d", w.Code)
	}
	s.fails.Store(false)
	if w := send("f", secret, "7"); w.Code != 200 {
		t.Errorf("again after a failure: %d", w.Code)
	}
	if n := s.applies.Load(); n != 4 {
		t.Errorf("%d applies were carried out, want 4", n)
	}
}

func TestAppliedKeysAreForgottenAfterADayAndBounded(t *testing.T) {
	clock := now
	r := newReplays(func() time.Time { return clock })
	applies := 0
	once := func(key string) {
		_, err := r.once(t.Context(), key, "d", func() (plans.Receipt, error) { applies++; return plans.Receipt{}, nil })
		if err != nil {
			t.Fatal(err)
		}
	}
	once("a")
	once("a")
	clock = clock.Add(replayLife)
	once("a")
	if applies != 2 {
		t.Errorf("%d applies, want 2", applies)
	}
	for n := range 3 * maxReplays {
		once(string(rune(n + 1000)))
	}
	if len(r.byKey) > maxReplays || len(r.order) != len(r.byKey) {
		t.Errorf("%d keys in order, %d by key", len(r.order), len(r.byKey))
	}
}
