package api

import (
	"context"
	"crypto/tls"
	"errors"
	"iter"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/forgeyard/forgeyard-fleet/core/access"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/installation"
	"github.com/forgeyard/forgeyard-fleet/core/keys"
	"github.com/forgeyard/forgeyard-fleet/core/orders"
	"github.com/forgeyard/forgeyard-fleet/core/pki"
	"github.com/forgeyard/forgeyard-fleet/core/planner"
	"github.com/forgeyard/forgeyard-fleet/core/plans"
	"github.com/forgeyard/forgeyard-fleet/core/progress"
	"github.com/forgeyard/forgeyard-fleet/core/query"
	"github.com/forgeyard/forgeyard-fleet/core/reason"
	"github.com/forgeyard/forgeyard-fleet/core/view"
)

// Every stream, connection and watch must be gone when the tests are.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var now = time.Date(2026, 5, 4, 10, 20, 30, 0, time.UTC)

// service is a installation.Service with ready answers. It notes what it was asked.
type service struct {
	err error

	plan      plans.Plan
	receipt   plans.Receipt
	fleets    []view.Fleet
	instances []view.Instance
	history   query.History
	decisions []fleet.Decision
	token     access.Token
	ticket    orders.JoinTicket
	audit     []access.AuditRecord
	events    []query.Event
	// unrecorded is what providers have without a record.
	unrecorded []fleet.UnrecordedResource
	keys       []keys.Key
	refusals   []fleet.Refusal
	watch      func(context.Context) iter.Seq2[progress.Progress, error]

	mu     sync.Mutex
	asked  []any
	caller access.Caller
}

const secret = "fyk_the-secret-of-a-token"

func (s *service) note(ctx context.Context, asked ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked, s.caller = asked, access.CallerOf(ctx)
}

func (s *service) heard() []any {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

func (s *service) Plan(ctx context.Context, sub plans.Submission) (plans.Plan, error) {
	s.note(ctx, sub)
	return s.plan, s.err
}

func (s *service) Apply(ctx context.Context, sub plans.Submission, a plans.Approval) (plans.Receipt, error) {
	s.note(ctx, sub, a)
	return s.receipt, s.err
}

func (s *service) Watch(ctx context.Context) iter.Seq2[progress.Progress, error] {
	if s.watch != nil {
		return s.watch(ctx)
	}
	return func(yield func(progress.Progress, error) bool) {
		if s.err != nil {
			yield(progress.Progress{}, s.err)
			return
		}
		_ = yield(progress.Progress{At: now, Settled: true}, nil)
	}
}

func (s *service) Fleets(ctx context.Context) ([]view.Fleet, error) {
	s.note(ctx)
	return within(ctx, s.fleets, func(f view.Fleet) fleet.FleetAddress { return f.Address }), s.err
}

func (s *service) Instances(ctx context.Context) ([]view.Instance, error) {
	s.note(ctx)
	return within(ctx, s.instances, func(i view.Instance) fleet.FleetAddress { return i.Fleet }), s.err
}

func (s *service) History(ctx context.Context, q query.HistoryFilter) (query.History, error) {
	s.note(ctx, q)
	return s.history, s.err
}

func (s *service) Instance(ctx context.Context, id string) (view.Instance, error) {
	s.note(ctx, id)
	for _, i := range within(ctx, s.instances, func(i view.Instance) fleet.FleetAddress { return i.Fleet }) {
		if s.err == nil && string(i.ID) == id {
			return i, nil
		}
	}
	return view.Instance{}, errors.Join(s.err, &access.NotFoundError{ID: id})
}

// within keeps a limited caller to its fleets, as every service does.
func within[T any](ctx context.Context, list []T, address func(T) fleet.FleetAddress) (kept []T) {
	limits := access.CallerOf(ctx).Fleets
	for _, one := range list {
		if len(limits) == 0 || slices.Contains(limits, address(one)) {
			kept = append(kept, one)
		}
	}
	return kept
}

func (s *service) Decisions(ctx context.Context, a fleet.FleetAddress, limit int) ([]fleet.Decision, error) {
	s.note(ctx, a, limit)
	return s.decisions, s.err
}

func (s *service) Events(ctx context.Context, q query.EventFilter) ([]query.Event, error) {
	s.note(ctx, q)
	return within(ctx, s.events, func(e query.Event) fleet.FleetAddress { return e.Fleet }), s.err
}

func (s *service) Unrecorded(ctx context.Context) ([]fleet.UnrecordedResource, error) {
	s.note(ctx)
	return s.unrecorded, s.err
}

func (s *service) Images(ctx context.Context) ([]view.ImageReport, error) {
	s.note(ctx)
	return []view.ImageReport{ubuntu}, s.err
}

var rolledBack = orders.RolloutReceipt{
	Fleets: []orders.FleetRollout{{Fleet: "fleet.linux", Done: "rolled back", Changed: true}},
	Loop:   true,
}

// ubuntu is an image with something of everything.
var ubuntu = view.ImageReport{
	Name:      "ubuntu-24",
	Digest:    "sha256:2c26",
	Bootstrap: "cloud-init",
	State:     view.ImageQuarantined,
	Refs:      []view.ImageRef{{Provider: "aws.frankfurt", Ref: "ami-0abc", ID: "sha256:1234"}},
	Fleets: []view.ImageFleet{
		{Fleet: "fleet.linux", State: view.ImageCanary, Instances: 1, Others: 6, Reason: reason.Plain("1 canary soaks")},
	},
	Instances:  1,
	Others:     6,
	Quarantine: &fleet.Quarantine{Image: "sha256:2c26", Attribution: fleet.Attribution{By: "ada", At: now, Reason: "odd"}},
}

func (s *service) Reservations(ctx context.Context) ([]planner.ReservationPlan, error) {
	s.note(ctx)
	return []planner.ReservationPlan{reserved}, s.err
}

func (s *service) CreateReservation(ctx context.Context, r orders.ReservationRequest) (planner.ReservationPlan, error) {
	s.note(ctx, r)
	return reserved, s.err
}

func (s *service) DeleteReservation(ctx context.Context, id fleet.CapacityReservationID) error {
	s.note(ctx, id)
	return s.err
}

// reserved is a reservation with something of everything.
var reserved = planner.ReservationPlan{
	CapacityReservation: fleet.CapacityReservation{
		ID:        "r1",
		Class:     fleet.CapacityClass{Name: "small"},
		Quantity:  3,
		Start:     now,
		End:       now.Add(time.Hour),
		LeadTime:  time.Minute,
		Fleet:     "fleet.linux",
		Scope:     fleet.FleetScope{Tenant: "acme"},
		Dedicated: true,
		Made:      fleet.Attribution{By: "ada", At: now, Reason: "release"},
	},
	State:   planner.ReservationActive,
	Shares:  []planner.ReservedShare{{Fleet: "fleet.linux", Quantity: 2}},
	Missing: 1,
	Reason:  reason.Plain("1 can't be there"),
}

func (s *service) CreateToken(ctx context.Context, t access.NewToken) (access.Token, string, error) {
	s.note(ctx, t)
	return s.token, secret, s.err
}

func (s *service) Join(ctx context.Context, r orders.JoinRequest) (orders.JoinTicket, error) {
	s.note(ctx, r)
	return s.ticket, s.err
}

func (s *service) Tokens(ctx context.Context) ([]access.Token, error) {
	s.note(ctx)
	return []access.Token{s.token}, s.err
}

func (s *service) DeleteToken(ctx context.Context, id string) error {
	s.note(ctx, id)
	return s.err
}

func (s *service) Audit(ctx context.Context, limit int) ([]access.AuditRecord, error) {
	s.note(ctx, limit)
	return s.audit, s.err
}

func (s *service) Refusals(ctx context.Context) ([]fleet.Refusal, error) {
	s.note(ctx)
	return s.refusals, s.err
}

func (s *service) Keys(ctx context.Context) ([]keys.Key, error) {
	s.note(ctx)
	return s.keys, s.err
}

func (s *service) RotateKey(ctx context.Context, kind string) (keys.Key, error) {
	s.note(ctx, kind)
	return s.keys[0], s.err
}

func (s *service) DeleteKey(ctx context.Context, id string) error {
	s.note(ctx, id)
	return s.err
}

// lab is a service with something of everything.
func lab() *service {
	s := &service{
		plan:    plans.Plan{Installation: "lab", Serial: 7},
		receipt: plans.Receipt{Serial: 8, Changed: true},
		ticket: orders.JoinTicket{
			Host:     "mini-1",
			Fleet:    "fleet.linux",
			Provider: "manual.lab",
			Instance: "i9",
			Expires:  now.Add(24 * time.Hour),
			Command:  "( : )",
			Notes:    []string{"a note"},
		},
		token: access.Token{
			ID:          "t1",
			Name:        "ci",
			Permissions: []access.Permission{access.ReadFleets},
			Created:     now,
			By:          "ada",
			Expires:     now.Add(time.Hour),
		},
		events: []query.Event{
			{
				At:       now,
				Kind:     query.DecisionEvent,
				ID:       "d1",
				Fleet:    "fleet.linux",
				Instance: "il1",
				What:     "scale_up by 2",
				Text:     "2 wanted.",
			},
			{At: now, Kind: query.AuditEvent, ID: "a1", What: "apply", By: "ada", Text: "definition 8"},
		},
		audit: []access.AuditRecord{{ID: "a1", At: now, By: "ada", Action: "apply", Detail: "definition 8"}},
		refusals: []fleet.Refusal{
			{Code: "token_expired", Reason: "the token expired", Address: "10.0.0.1", At: now, Calls: 2, Instance: "i1"},
		},
		keys: []keys.Key{{ID: "k2", Kind: "authority", Purpose: "signs", Fingerprint: "sha256:x", Created: now},
			{ID: "k1", Kind: "authority", Purpose: "signs", Created: now, Retired: now, Needed: []string{"instance i pins it"}}},
	}
	s.unrecorded = []fleet.UnrecordedResource{
		{
			Provider:       "local.here",
			ID:             "x",
			Kind:           "volume",
			Classification: fleet.Orphan,
			Fleet:          "fleet.linux",
			Reason: reason.Of(
				reason.ProvenOrphan{},
			),
			Decide:       reason.Of(reason.LeftAlone{Provider: "local.here", Resource: "r"}),
			FirstSeen:    now,
			RemovedAfter: now.Add(time.Hour),
		},
	}
	for n, address := range []fleet.FleetAddress{"fleet.linux", `fleet.each["a"]`} {
		id := fleet.RunnerFleetID("f" + string(rune('1'+n)))
		s.fleets = append(
			s.fleets,
			view.Fleet{
				Address:     address,
				ID:          id,
				Provider:    "local.here",
				Class:       "c",
				Operational: fleet.FleetActive,
				Min:         1,
				Max:         3,
				Desired:     2,
				Bounds:      []fleet.Bound{{Name: "min", After: 1, Reason: reason.Of(reason.RaisedToMin{Min: 1})}},
				Health:      view.Healthy,
			},
		)
		s.instances = append(
			s.instances,
			view.Instance{ID: fleet.CapacityInstanceID("i" + string(id)), Fleet: address, Provider: "local.here",
				State: fleet.Healthy, Since: now, Created: now, Runner: &view.Runner{ID: "r", Enrolled: now, Certificate: now}},
		)
		s.decisions = append(
			s.decisions,
			fleet.Decision{
				ID:     "d" + string(id),
				At:     now,
				Fleet:  id,
				Kind:   fleet.ScaleUp,
				Add:    1,
				Reason: reason.Plain("1 wanted, 0 there."),
			},
		)
	}
	return s
}

// tokens are the callers by secret, as control would find them.
type tokens map[string]access.Caller

func (t tokens) authenticate(_ context.Context, secret string) (access.Caller, error) {
	if c, ok := t[secret]; ok {
		return c, nil
	}
	return access.Caller{}, access.ErrUnauthenticated
}

func handler(s installation.Service, t tokens) *Handler {
	return NewHandler(Config{Service: s, Authenticate: t.authenticate, Owner: os.Getuid(), Version: "0.1.0",
		Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return now }})
}

var everything = access.Caller{Name: "token all", Permissions: access.AllPermissions()}

// serve runs a server on a listener until the test ends.
func serve(t testing.TB, h *Handler, l net.Listener) {
	t.Helper()
	server := NewServer(h)
	done := make(chan error, 1)
	go func() { done <- server.Serve(l) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := server.Shutdown(ctx); err != nil {
			t.Errorf("shut down: %v", err)
			_ = server.Close()
		}
		if err := <-done; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
}

func onSocket(t testing.TB, h *Handler) Endpoint {
	t.Helper()
	dir, err := os.MkdirTemp("", "api") // t.TempDir is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	path := filepath.Join(dir, "s")
	l, err := ListenUnix(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	serve(t, h, l)
	return Endpoint{Socket: path}
}

var authority = sync.OnceValues(func() (*pki.Authority, error) {
	dir, err := os.MkdirTemp("", "authority")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	return pki.LoadAuthority(dir, "lab", now)
})

func onTLS(t testing.TB, h *Handler, token string) Endpoint {
	t.Helper()
	a, err := authority()
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	serve(t, h, tls.NewListener(l, TLSConfig(func() (*tls.Certificate, error) { return a.ServerCertificate(now) })))
	return Endpoint{
		URL:           "https://" + l.Addr().String(),
		CAFingerprint: a.Fingerprint(),
		Token:         token,
		Now:           func() time.Time { return now },
	}
}

func dial(t testing.TB, e Endpoint) *Client {
	t.Helper()
	c, err := Dial(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// eachSurface runs a test with a client over the socket and one over TLS.
func eachSurface(t *testing.T, s installation.Service, test func(t *testing.T, c *Client)) {
	t.Helper()
	h := handler(s, tokens{secret: everything})
	t.Run("over the socket", func(t *testing.T) { test(t, dial(t, onSocket(t, h))) })
	h = handler(s, tokens{secret: everything}) // the first one's server has ended its streams
	t.Run("over TLS", func(t *testing.T) { test(t, dial(t, onTLS(t, h, secret))) })
}
