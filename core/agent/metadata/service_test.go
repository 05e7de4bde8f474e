package metadata

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/agentapi"
	"github.com/forgeyard/forgeyard-fleet/core/testonly/metadatafake"
)

const (
	awsSpot  = "/latest/meta-data/spot/instance-action"
	gcp      = "/computeMetadata/v1/instance/"
	azureDoc = "/metadata/scheduledevents"
)

func TestNoticesOfEachPlatform(t *testing.T) {
	now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	at := func(s string) time.Time {
		parsed, err := time.Parse(time.RFC3339, s)
		if err != nil {
			t.Fatal(err)
		}
		return parsed
	}
	azure := func(event string) map[string]string {
		return map[string]string{
			azureDoc:                          `{"DocumentIncarnation": 1, "Events": [` + event + `]}`,
			"/metadata/instance/compute/name": "vm-1\n",
		}
	}
	for name, test := range map[string]struct {
		platform string
		values   map[string]string
		want     []Notice
	}{
		"AWS says nothing": {"aws", nil, nil},
		"AWS takes it away": {"aws", map[string]string{awsSpot: `{"action": "terminate", "time": "2026-11-29T12:02:00Z"}`},
			[]Notice{{"spot-2026-11-29T12:02:00Z", agentapi.NoticeInterruption, at("2026-11-29T12:02:00Z"),
				"AWS spot: terminate"}}},
		"AWS recommends to rebalance": {"aws",
			map[string]string{"/latest/meta-data/events/recommendations/rebalance": `{"noticeTime": "2026-11-29T11:59:00Z"}`},
			[]Notice{{ID: "rebalance-2026-11-29T11:59:00Z", Kind: agentapi.NoticeRebalance,
				Detail: "AWS recommends to rebalance"}}},
		"AWS announces work": {"aws",
			map[string]string{
				"/latest/meta-data/events/maintenance/scheduled": `[{"NotBefore": "21 Jan 2027 09:00:43 GMT", "Code": "system-reboot", "Description": "scheduled reboot", "EventId": "instance-event-1", "State": "active"}, {"EventId": "old", "State": "completed"}]`},
			[]Notice{{"instance-event-1", agentapi.NoticeMaintenance, at("2027-01-21T09:00:43Z"),
				"AWS: system-reboot scheduled reboot"}}},
		"Google says nothing": {"gcp",
			map[string]string{gcp + "preempted": "FALSE", gcp + "maintenance-event": "NONE"}, nil},
		"Google preempts it": {"gcp",
			map[string]string{gcp + "preempted": "TRUE", gcp + "maintenance-event": "NONE"},
			[]Notice{{"preempted", agentapi.NoticeInterruption, now.Add(30 * time.Second), "Google Cloud: preempted"}}},
		"Google moves it while it runs": {"gcp",
			map[string]string{gcp + "preempted": "FALSE", gcp + "maintenance-event": "MIGRATE_ON_HOST_MAINTENANCE"}, nil},
		"Google ends it for its work": {"gcp", map[string]string{gcp + "maintenance-event": "TERMINATE_ON_HOST_MAINTENANCE"},
			[]Notice{{ID: "maintenance", Kind: agentapi.NoticeMaintenance,
				Detail: "Google Cloud: TERMINATE_ON_HOST_MAINTENANCE"}}},
		"Azure says nothing": {"azure", map[string]string{azureDoc: `{"DocumentIncarnation": 0, "Events": []}`}, nil},
		"Azure evicts it": {"azure",
			azure(`{"EventId": "e1", "EventStatus": "Scheduled", "EventType": "Preempt", "Resources": ["vm-0", "vm-1"], "NotBefore": "Sun, 29 Nov 2026 12:00:30 GMT"}`),
			[]Notice{{"e1", agentapi.NoticeInterruption, at("2026-11-29T12:00:30Z"), "Azure: Preempt "}}},
		"Azure reboots it now": {"azure",
			azure(`{"EventId": "e2", "EventStatus": "Started", "EventType": "Reboot", "Resources": ["vm-1"], "NotBefore": ""}`),
			[]Notice{{"e2", agentapi.NoticeMaintenance, now, "Azure: Reboot "}}},
		"Azure evicts its neighbour": {"azure",
			azure(`{"EventId": "e3", "EventStatus": "Scheduled", "EventType": "Preempt", "Resources": ["vm-2"], "NotBefore": ""}`), nil},
	} {
		t.Run(name, func(t *testing.T) {
			_, url := metadatafake.Start(t, test.values)
			notices, err := NewClient(Service{test.platform, url}).Notices(t.Context(), now)
			if err != nil || len(notices) != len(test.want) {
				t.Fatalf("%+v, %v, want %+v", notices, err, test.want)
			}
			for n, want := range test.want {
				if got := notices[n]; got.ID != want.ID || got.Kind != want.Kind || got.Detail != want.Detail ||
					!got.Deadline.Equal(want.Deadline) {
					t.Errorf("%+v, want %+v", got, want)
				}
			}
		})
	}
}

func TestExpiredAWSTokenIsReplaced(t *testing.T) {
	m, url := metadatafake.Start(t, map[string]string{awsSpot: `{"action": "stop", "time": "2026-11-29T12:02:00Z"}`})
	s := NewClient(Service{"aws", url})
	for _, token := range []string{"first", "second"} {
		m.Set(func() { m.Token = token })
		if notices, err := s.Notices(t.Context(), time.Now()); err != nil || len(notices) != 1 {
			t.Errorf("with the %s token: %+v, %v", token, notices, err)
		}
	}
}

func TestAnswersOfOtherServicesAnnounceNothing(t *testing.T) {
	for name, test := range map[string]struct {
		platform string
		serve    http.HandlerFunc
	}{
		"a page on every path": {"aws", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte("<html>TRUE</html>"))
		}},
		"TRUE without Google's mark": {"gcp", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte("TRUE"))
		}},
		"a redirect": {"aws", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://192.0.2.1/", http.StatusFound)
		}},
		"an answer that doesn't end": {"azure", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(strings.Repeat(" ", 1<<20)))
		}},
		"an error of the service": {"azure", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }},
		"JSON of another form": {"azure", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"Events": 7}`))
		}},
		"an action without any sense": {"aws", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"time": "soon"}`))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(test.serve)
			defer server.Close()
			if notices, err := NewClient(
				Service{test.platform, server.URL},
			).Notices(t.Context(), time.Now()); err == nil ||
				len(notices) > 0 {
				t.Errorf("%+v, %v", notices, err)
			}
		})
	}
}

func TestPlatformIsDetectedByFirmware(t *testing.T) {
	for want, firmware := range map[string]map[string]string{
		"aws":   {"sys_vendor": "Amazon EC2", "product_name": "m7g.large"},
		"gcp":   {"sys_vendor": "Google", "product_name": "Google Compute Engine"},
		"azure": {"sys_vendor": "Microsoft Corporation", "chassis_asset_tag": azureChassis},
		"":      {"sys_vendor": "Microsoft Corporation", "product_name": "Surface", "chassis_asset_tag": "0"},
	} {
		got := platformOf(func(name string) string { return firmware[name] })
		if (got == nil) != (want == "") || got != nil && (got.Platform != want || got.URL != "http://169.254.169.254") {
			t.Errorf("%v is %+v, want %q", firmware, got, want)
		}
	}
}

func TestReplacedServiceMustBeOnThisHost(t *testing.T) {
	for text, ok := range map[string]bool{
		"aws http://127.0.0.1:1234": true, "gcp http://[::1]:9": true,
		"aws http://169.254.169.254": false, "aws http://192.0.2.1": false, "aws http://localhost:80": false,
		"aws https://127.0.0.1":     false,
		"aws http://127.0.0.1/path": false, "aws http://u@127.0.0.1": false, "oracle http://127.0.0.1": false, "": false,
		"aws": false,
	} {
		if m, err := Parse(text); (err == nil) != ok {
			t.Errorf("%q is %+v, %v", text, m, err)
		}
	}
}
