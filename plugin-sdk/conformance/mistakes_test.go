package conformance_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/conformance"
	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider/providertest"
)

// httpLab is the plugin for an HTTP API, with the kit's proxy between the two.
func httpLab(t *testing.T, m mistakes) (conformance.Launcher, conformance.Options) {
	cloud := newHTTPCloud(t)
	return providertest.Launcher(newHTTPPlugin(m).InProcess), conformance.Options{
		Instance: []byte(`{}`), AllowCreate: true, OS: "linux", Arch: "x86_64", Patience: 5 * time.Second,
		PageSize: httpPageSize, Count: cloud.count,
		Proxy: &conformance.Proxy{Target: cloud.url, Provider: func(endpoint string) ([]byte, error) {
			return fmt.Appendf(nil, `{"endpoint": %q}`, endpoint), nil
		}},
	}
}

func TestAnHonestPluginOfAnHTTPAPIKeepsEveryRule(t *testing.T) {
	launcher, options := httpLab(t, mistakes{})
	passed := map[string]bool{}
	for _, result := range verdicts(t, launcher, options) {
		if result.Verdict == conformance.Fail {
			t.Errorf("%s: %s", result.Rule, result.Reason)
		}
		passed[result.Rule] = result.Verdict == conformance.Pass
	}
	for _, rule := range []string{"offers-good", "offer-used", "echoes", "several-listed", "foreign-unlisted",
		"lost-answer-unknown", "list-errors-told", "rate-limit-told", "nothing-left"} {
		if !passed[rule] {
			t.Errorf("the rule %s wasn't checked", rule)
		}
	}
}

// beginner is a plugin with one mistake.
type beginner struct {
	mistake string
	plant   mistakes
	rule    string
	says    string
}

// beginners are the mistakes that beginners made with the documentation in hand, each with
// the rule that finds it and a piece of what that says to change.
var beginners = []beginner{
	{"NotCreated is claimed after every failure", mistakes{alwaysNotCreated: true}, "lost-answer-unknown",
		"only what was refused for certain is NotCreated"},
	{"the client library repeats creates by itself", mistakes{retriesCreates: true}, "lost-answer-unknown",
		"turn off the retries of the client library"},
	{"NotCreated is claimed after every error answer", mistakes{notCreatedOn5xx: true}, "lost-answer-unknown",
		"answered with 502"},
	{"creates are repeated after error answers", mistakes{retriesOn5xx: true}, "lost-answer-unknown",
		"turn off the retries of the client library"},
	{"the error of a later page is swallowed", mistakes{swallowsLaterPages: true}, "list-errors-told",
		"yield every error"},
	{"only the first page is read", mistakes{firstPage: true}, "several-listed", "read every page"},
	{"the error of a second list is swallowed", mistakes{swallowsSecondList: true}, "list-errors-told",
		"yield every error"},
	{"volumes are left", mistakes{leaksVolumes: true}, "nothing-left", "list the volumes"},
	{"offers are ignored", mistakes{ignoresOffers: true}, "offer-used", "use the first offer that works"},
	{"digest and fleet are forgotten", mistakes{echoesNothing: true}, "echoes", "keep it with the instance"},
	{"resources of others are listed", mistakes{listsForeign: true}, "foreign-unlisted", "list only what carries the tag"},
	{"a value doesn't fit into a label", mistakes{longLabels: true}, "creates", "is not a label value"},
	{"throttling is told as any error", mistakes{hidesThrottle: true}, "rate-limit-told", "RetryAfter"},
	{"removing what is gone fails", mistakes{failsOnGone: true}, "terminate-unknown", "never made anything"},
	{"the key of a reference isn't checked", mistakes{ignoresKey: true}, "terminate-other-key", "carries the key"},
	{"each create has a name of its own", mistakes{randomName: true}, "same-key-in-sequence", "OUTCOME_EXISTED"},
	{"errors of lists are swallowed", mistakes{swallowsListErrors: true}, "list-errors-told", "yield every error"},
	{"list_settle is too short", mistakes{settle: time.Microsecond}, "creates", "list_settle is"},
	{"the token is logged", mistakes{logsToken: true}, "secrets-unlogged", "a secret"},
	{"existed isn't set", mistakes{forgetsExisted: true}, "same-key-in-sequence", "OUTCOME_EXISTED is true"},
}

func TestTheKitFindsTheMistakesOfBeginners(t *testing.T) {
	for _, b := range beginners {
		t.Run(b.mistake, func(t *testing.T) {
			t.Parallel()
			launcher, options := httpLab(t, b.plant)
			options.Only = []string{"creates", b.rule}
			found := verdicts(t, launcher, options)[b.rule]
			if found.Verdict != conformance.Fail || !strings.Contains(found.Reason, b.says) {
				t.Errorf("the rule %s is %s: %q; want a failure that says %q", b.rule, found.Verdict, found.Reason, b.says)
			}
		})
	}
}

func TestOnlyTheNamedRulesAreChecked(t *testing.T) {
	launcher, options := httpLab(t, mistakes{})
	options.Only = []string{"echoes"}
	var begun []string
	options.Begun = func(rule string) { begun = append(begun, rule) }
	results := verdicts(t, launcher, options)
	want := []string{"schema-valid", "configures", "offers-good", "echoes", "nothing-left"}
	if !slices.Equal(begun, want) || len(results) != len(want) || results["echoes"].Verdict != conformance.Pass {
		t.Errorf("begun %v, results %v; want %v", begun, results, want)
	}
	options.Only = []string{"no-such-rule"}
	err := conformance.Run(t.Context(), launcher, options, func(conformance.Result) {})
	if err == nil || !strings.Contains(err.Error(), `no rule "no-such-rule"`) {
		t.Errorf("an unknown rule: %v", err)
	}
}

func TestAFailureShowsTheLogOfThePlugin(t *testing.T) {
	launcher, options := httpLab(t, mistakes{logsToken: true})
	options.Only = []string{"creates"}
	result := verdicts(t, launcher, options)["creates"]
	if result.Verdict != conformance.Pass || len(result.Log) > 0 {
		t.Errorf("what passes has a log: %+v", result)
	}
	launcher, options = httpLab(t, mistakes{logsToken: true, longLabels: true})
	options.Only = []string{"creates"}
	result = verdicts(t, launcher, options)["creates"]
	log := strings.Join(result.Log, "\n")
	if result.Verdict != conformance.Fail || !strings.Contains(log, "create") || strings.Contains(log, "kit-token") {
		t.Errorf("what fails has the log %q", log)
	}
	if result.Seconds <= 0 {
		t.Errorf("it took %f seconds", result.Seconds)
	}
}
