package announcement

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider"
)

// The messages are in the form in which the vendor documents them.
const (
	warning = `{"version":"0","id":"e-1","detail-type":"EC2 Spot Instance Interruption Warning","source":"aws.ec2","account":"123456789012",
		"time":"2026-11-30T09:00:00Z","region":"us-east-2","resources":["arn:aws:ec2:us-east-2:123456789012:instance/i-0123456789abcdef0"],
		"detail":{"instance-id":"i-0123456789abcdef0","instance-action":"terminate"}}`
	recommendation = `{"version":"0","id":"e-2","detail-type":"EC2 Instance Rebalance Recommendation","source":"aws.ec2","account":"123456789012",
		"time":"2026-11-30T09:00:00Z","region":"us-east-2","resources":[],"detail":{"instance-id":"i-0123456789abcdef0"}}`
	change = `{"id":"e-3","detail-type":"EC2 Instance State-change Notification","source":"aws.ec2","account":"123456789012",
		"time":"2026-11-30T09:00:00Z","region":"us-east-2","resources":[],"detail":{"instance-id":"i-0123456789abcdef0","state":"stopping"}}`
	retirement = `{"version":"0","id":"e-4","detail-type":"AWS Health Event","source":"aws.health","account":"123456789012",
		"time":"2026-11-30T09:00:00Z","region":"us-west-2","resources":["i-0123456789abcdef0"],
		"detail":{"eventArn":"arn:aws:health:us-west-2::event/EC2/x/1","service":"EC2","eventScopeCode":"ACCOUNT_SPECIFIC",
		"eventTypeCode":"AWS_EC2_INSTANCE_RETIREMENT_SCHEDULED","eventTypeCategory":"scheduledChange","statusCode":"upcoming",
		"startTime":"Thu, 03 Dec 2026 05:00:00 GMT","endTime":"Thu, 03 Dec 2026 05:00:00 GMT",
		"eventDescription":[{"language":"en_US","latestDescription":"…"}],"page":"1","totalPages":"1",
		"affectedEntities":[{"entityValue":"i-0123456789abcdef0","status":"IMPAIRED"},{"entityValue":"i-0123456789abcdef1"},
		{"entityValue":"i-0123456789abcdef1"},{"entityValue":"arn:aws:ec2:us-west-2:123456789012:volume/vol-1"}]}}`
)

func TestEachEventIsReadAsWhatItAnnounces(t *testing.T) {
	at := time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)
	begin := time.Date(2026, 12, 3, 5, 0, 0, 0, time.UTC)
	const instance, arn = "i-0123456789abcdef0", "arn:aws:health:us-west-2::event/EC2/x/1"
	retired := provider.Notice{ID: arn, Kind: provider.Maintenance, Instance: instance, Deadline: begin,
		Detail: "AWS_EC2_INSTANCE_RETIREMENT_SCHEDULED"}
	second := retired
	second.Instance = "i-0123456789abcdef1"
	over := provider.Notice{ID: "e-4", Kind: provider.StateChange, Instance: instance,
		Detail: "AWS_EC2_INSTANCE_RETIREMENT_SCHEDULED is over"}
	secondOver := over
	secondOver.Instance = second.Instance
	for name, c := range map[string]struct {
		message string
		want    []provider.Notice
	}{
		"a spot machine is taken away": {warning,
			[]provider.Notice{{ID: "e-1", Kind: provider.Interruption, Instance: instance,
				Deadline: at.Add(2 * time.Minute), Detail: "spot interruption: terminate"}}},
		"a spot machine may be taken away": {recommendation,
			[]provider.Notice{{ID: "e-2", Kind: provider.Rebalance, Instance: instance, Detail: "rebalance recommendation"}}},
		"a machine changes": {change,
			[]provider.Notice{{ID: "e-3", Kind: provider.StateChange, Instance: instance, Detail: "it is stopping"}}},
		"machines are retired": {retirement, []provider.Notice{retired, second}},
		"a retirement is called off": {strings.Replace(retirement, "upcoming", "closed", 1),
			[]provider.Notice{over, secondOver}},
		"one of two machines has left its host": {strings.Replace(retirement, "IMPAIRED", "RESOLVED", 1),
			[]provider.Notice{over, second}},
	} {
		got, err := Read(c.message)
		if err != nil || !slices.Equal(got.Notices, c.want) || !got.At.Equal(at) {
			t.Errorf("%s: got %+v, %v, wanted %+v", name, got, err, c.want)
		}
	}
}

func TestWhatAnnouncesNothingIsSaidToDoSo(t *testing.T) {
	for name, c := range map[string]struct{ message, says string }{
		"it isn't JSON": {"hello", "not an EventBridge event"},
		"it is a list":  {"[]", "not an EventBridge event"},
		"it is of another kind": {
			`{"id":"e","detail-type":"Scheduled Event","time":"2026-11-30T09:00:00Z","detail":{}}`, "Scheduled Event"},
		"it is wrapped by a topic": {`{"Type":"Notification","Message":"{}"}`, `the kind ""`},
		"it names no instance":     {strings.Replace(warning, "instance-id", "id", 1), "no instance"},
		"its warning has no time":  {strings.Replace(warning, `"time"`, `"when"`, 1), "no time"},
		"it has no detail":         {`{"id":"e","detail-type":"EC2 Instance Rebalance Recommendation"}`, "the event"},
		"it is about another service": {strings.Replace(retirement, `"service":"EC2"`, `"service":"RDS"`, 1),
			"no change that is scheduled for machines"},
		"it is an issue and no change": {strings.Replace(retirement, "scheduledChange", "issue", 1), `"issue"`},
		"it begins at no time": {strings.Replace(retirement, "Thu, 03 Dec 2026 05:00:00 GMT", "soon", 1),
			"when it begins"},
		"it is about volumes and no more": {strings.ReplaceAll(retirement, `"i-0`, `"vol-0`), "names no instance"},
	} {
		if got, err := Read(c.message); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: got %+v, %v, wanted an error that says %q", name, got, err, c.says)
		}
	}
}

// Anybody who may write into the queue may write anything.
func FuzzAMessageOfAStrangerNeverPanicsAndAlwaysNamesInstances(f *testing.F) {
	for _, message := range []string{warning, recommendation, change, retirement, "null", `{"detail":1}`} {
		f.Add(message)
	}
	f.Fuzz(func(t *testing.T, message string) {
		read, err := Read(message)
		for _, notice := range read.Notices {
			if err == nil && notice.Instance == "" {
				t.Errorf("a notice without an instance: %+v", notice)
			}
		}
		if err == nil && len(read.Notices) == 0 {
			t.Error("neither a notice nor an error")
		}
	})
}
