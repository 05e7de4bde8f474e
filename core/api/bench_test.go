package api

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/view"
)

// A plan of as many files as a definition may have, as far as it is this
// package's work.
func BenchmarkPlanOf10MiB(b *testing.B) {
	h := allowing(lab())
	body := `{"sources":[{"name":"a.hcl","bytes":"` + strings.Repeat("AAAA", 10<<20/3) + `"}],"lock":"","variables":{}}`
	b.ReportAllocs()
	for b.Loop() {
		if w := answerTo(h, ask(http.MethodPost, "/v1/plan", body)); w.Code != 200 {
			b.Fatal(w.Code, w.Body)
		}
	}
}

func BenchmarkPageOf10000Instances(b *testing.B) {
	s := lab()
	s.instances = nil
	for n := range 10_000 {
		s.instances = append(
			s.instances,
			view.Instance{
				ID:      fleet.CapacityInstanceID(fmt.Sprintf("i%05d", n)),
				Fleet:   "fleet.linux",
				Created: now.Add(time.Duration(n) * time.Second),
			},
		)
	}
	h := allowing(s)
	b.ReportAllocs()
	for b.Loop() {
		if w := answerTo(h, ask(http.MethodGet, "/v1/instances?limit=1000", "")); w.Code != 200 {
			b.Fatal(w.Code, w.Body)
		}
	}
}
