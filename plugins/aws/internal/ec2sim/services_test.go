package ec2sim

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// ask sends one action of a service that speaks JSON.
func (c caller) ask(service, action string, request any) (int, string) {
	c.t.Helper()
	c.service = service
	header := c.signed()
	header.Set("X-Amz-Target", jsonServices[service].target+"."+action)
	header.Set("Content-Type", "application/x-amz-json-"+jsonServices[service].version)
	body, err := json.Marshal(request)
	if err != nil {
		c.t.Fatal(err)
	}
	return c.send(header, string(body))
}

func (c caller) wantAnswer(service, action string, request any, want string) {
	c.t.Helper()
	if status, body := c.ask(service, action, request); status != 200 || body != want {
		c.t.Errorf("%s answers %d\n%s\nwant\n%s", action, status, body, want)
	}
}

func (c caller) wantRefusedAsk(code, service, action string, request any) {
	c.t.Helper()
	if status, body := c.ask(service, action, request); status != 400 || !strings.Contains(body, `"__type":"`+code+`"`) {
		c.t.Errorf("%s answers %d %s, want %s", action, status, body, code)
	}
}

type with = map[string]any

func TestAnswersOfQueues(t *testing.T) {
	c := newCaller(t, Options{})
	queue := c.simulator.AddQueue("events")
	c.simulator.SendMessage("hello")
	c.wantAnswer("sqs", "GetQueueUrl", with{"QueueName": "events"},
		`{"QueueUrl":"https://sqs.us-east-1.amazonaws.com/111122223333/events"}`)
	receipt := "00000000-0000-4000-9000-00000000000b#1"
	c.wantAnswer("sqs", "ReceiveMessage", with{"QueueUrl": queue, "MaxNumberOfMessages": 10},
		`{"Messages":[{"MessageId":"00000000-0000-4000-9000-00000000000b","ReceiptHandle":"`+receipt+
			`","MD5OfBody":"5d41402abc4b2a76b9719d911017c592","Body":"hello","Attributes":{"ApproximateReceiveCount":"1","SentTimestamp":"1796018400000"}}]}`)
	c.wantAnswer("sqs", "GetQueueAttributes", with{"QueueUrl": queue, "AttributeNames": []string{"All"}},
		`{"Attributes":{"ApproximateNumberOfMessages":"0","ApproximateNumberOfMessagesNotVisible":"1","VisibilityTimeout":"30"}}`)
	c.wantAnswer("sqs", "ReceiveMessage", with{"QueueUrl": queue}, `{}`) // It is hidden for now.
	c.wantAnswer("sqs", "DeleteMessageBatch",
		with{"QueueUrl": queue, "Entries": []with{{"Id": "a", "ReceiptHandle": receipt}}},
		`{"Failed":[],"Successful":[{"Id":"a"}]}`)
	c.wantAnswer("sqs", "DeleteMessage", with{"QueueUrl": queue, "ReceiptHandle": receipt}, `{}`)
	c.simulator.Advance(time.Hour)
	c.wantAnswer("sqs", "ReceiveMessage", with{"QueueUrl": queue}, `{}`)
	c.wantRefusedAsk("QueueDoesNotExist", "sqs", "ReceiveMessage", with{"QueueUrl": queue + "x"})
	c.wantRefusedAsk("SerializationException", "sqs", "ReceiveMessage", with{"QueueURLs": queue})
}

func TestAMessageThatIsNotDeletedComesAgain(t *testing.T) {
	c := newCaller(t, Options{})
	queue := c.simulator.AddQueue("events")
	c.simulator.SendMessage("hello")
	c.ask("sqs", "ReceiveMessage", with{"QueueUrl": queue, "VisibilityTimeout": 60})
	c.simulator.Advance(time.Minute)
	if _, body := c.ask("sqs", "ReceiveMessage", with{"QueueUrl": queue}); !strings.Contains(body,
		`"ApproximateReceiveCount":"2"`) {
		t.Errorf("after a minute the queue gives %s", body)
	}
}

// events reads the details of all events in the queue, and takes them away.
func (c caller) events(queue string) []string {
	c.t.Helper()
	var seen []string
	for {
		_, body := c.ask("sqs", "ReceiveMessage", with{"QueueUrl": queue})
		var answer receiveAnswer
		if err := json.Unmarshal([]byte(body), &answer); err != nil {
			c.t.Fatal(err)
		}
		if len(answer.Messages) == 0 {
			return seen
		}
		var one struct {
			Kind   string `json:"detail-type"`
			Detail struct{ State string }
		}
		if err := json.Unmarshal([]byte(answer.Messages[0].Body), &one); err != nil {
			c.t.Fatal(err)
		}
		seen = append(seen, strings.TrimSpace(one.Kind+" "+one.Detail.State))
		c.ask("sqs", "DeleteMessage", with{"QueueUrl": queue, "ReceiptHandle": answer.Messages[0].Receipt})
	}
}

func TestASpotInstanceIsToldTwoMinutesBeforeItsEnd(t *testing.T) {
	c := newCaller(t, Options{})
	queue := c.simulator.AddQueue("events")
	id := c.launch("InstanceMarketOptions.MarketType", "spot")[0]
	for _, tell := range []func() error{
		func() error { return c.simulator.Rebalance(id) },
		func() error { return c.simulator.Retire(id, start.Add(48*time.Hour)) },
		func() error { return c.simulator.Interrupt(id) },
	} {
		if err := tell(); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"EC2 Instance State-change Notification running", "EC2 Instance Rebalance Recommendation",
		"AWS Health Event", "EC2 Spot Instance Interruption Warning"}
	if got := c.events(queue); !slices.Equal(got, want) {
		t.Errorf("the events are %q, want %q", got, want)
	}
	c.simulator.Advance(2*time.Minute - time.Second)
	if state := read(t, c.must("DescribeInstances")).Instances[0].State; state != "running" {
		t.Errorf("before the notice runs out the instance is %s", state)
	}
	c.simulator.Advance(time.Second)
	body := c.must("DescribeInstances")
	if !strings.Contains(body, "<name>terminated</name>") || !strings.Contains(body, "Server.SpotInstanceTermination") {
		t.Errorf("after the notice ran out:\n%s", body)
	}
	if got := c.events(queue); !slices.Equal(got, []string{"EC2 Instance State-change Notification terminated"}) {
		t.Errorf("the events of the end are %q", got)
	}
	if c.simulator.Interrupt(id) == nil {
		t.Error("an instance that ended was interrupted")
	}
}

func TestAWaitingReceiveHearsWhatTimeAloneBrings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCaller(t, Options{Now: time.Now, Delays: Delays{Running: 5 * time.Second}})
		queue := c.simulator.AddQueue("events")
		c.launch()
		c.events(queue)
		began := time.Now()
		_, body := c.ask("sqs", "ReceiveMessage", with{"QueueUrl": queue, "WaitTimeSeconds": 20})
		if took := time.Since(began); !strings.Contains(body, `running`) || took < 5*time.Second || took > 6*time.Second {
			t.Errorf("after %v the queue gives %s", took, body)
		}
		began = time.Now()
		_, body = c.ask("sqs", "ReceiveMessage", with{"QueueUrl": queue, "WaitTimeSeconds": 20, "VisibilityTimeout": 30})
		if took := time.Since(began); body != "{}" || took != 20*time.Second {
			t.Errorf("with nothing to hear the wait took %v and gave %s", took, body)
		}
	})
}

func TestAnswersOfQuotas(t *testing.T) {
	c := newCaller(t, Options{LargestPage: 2})
	c.simulator.SetQuota(StandardQuota, 64)
	c.wantAnswer("servicequotas", "GetServiceQuota", with{"ServiceCode": "ec2", "QuotaCode": StandardQuota},
		`{"Quota":{"ServiceCode":"ec2","ServiceName":"Amazon Elastic Compute Cloud (Amazon EC2)","QuotaArn":"arn:aws:servicequotas:us-east-1:111122223333:ec2/L-1216C47A","QuotaCode":"L-1216C47A","QuotaName":"Running On-Demand Standard (A, C, D, H, I, M, R, T, Z) instances","Value":64,"Unit":"None","Adjustable":true,"GlobalQuota":false}}`)
	c.wantRefusedAsk("NoSuchResourceException", "servicequotas", "GetServiceQuota",
		with{"ServiceCode": "ec2", "QuotaCode": "L-0"})
	var codes []string
	request := with{"ServiceCode": "ec2"}
	for range 3 {
		_, body := c.ask("servicequotas", "ListServiceQuotas", request)
		var answer struct {
			Quotas    []quotaJSON
			NextToken string
		}
		if err := json.Unmarshal([]byte(body), &answer); err != nil {
			t.Fatal(err)
		}
		for _, one := range answer.Quotas {
			codes = append(codes, one.Code)
		}
		request["NextToken"] = answer.NextToken
	}
	if want := []string{StandardQuota, StandardSpotQuota, GraphicsSpotQuota, MacHostQuota,
		GraphicsQuota}; !slices.Equal(codes, want) || request["NextToken"] != "" {
		t.Errorf("three pages of two list %q and continue at %q", codes, request["NextToken"])
	}
}

func TestAPriceIsATextOfJSONWithinTheAnswer(t *testing.T) {
	c := newCaller(t, Options{})
	_, body := c.ask("pricing", "GetProducts", with{"ServiceCode": "AmazonEC2", "Filters": []with{
		{"Type": "TERM_MATCH", "Field": "instanceType", "Value": "c7i.large"},
		{"Type": "TERM_MATCH", "Field": "regionCode", "Value": "us-east-1"}}})
	var answer struct {
		FormatVersion string
		PriceList     []string
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil || answer.FormatVersion != "aws_v1" ||
		len(answer.PriceList) != 1 {
		t.Fatalf("the answer is %v\n%s", err, body)
	}
	want := `{"product":{"productFamily":"Compute Instance","attributes":{"capacitystatus":"Used","instanceType":"c7i.large","licenseModel":"No License required","marketoption":"OnDemand","operatingSystem":"Linux","operation":"RunInstances","preInstalledSw":"NA","productFamily":"Compute Instance","regionCode":"us-east-1","servicecode":"AmazonEC2","tenancy":"Shared"},"sku":"SIMc7i.large"},"serviceCode":"AmazonEC2","terms":{"OnDemand":{"SIMc7i.large.JRTCKXETXF":{"effectiveDate":"2026-11-01T00:00:00Z","offerTermCode":"JRTCKXETXF","priceDimensions":{"SIMc7i.large.JRTCKXETXF.6YS6EN2CT7":{"appliesTo":[],"beginRange":"0","description":"$0.08925 per On Demand Linux c7i.large Instance Hour","endRange":"Inf","pricePerUnit":{"USD":"0.08925"},"rateCode":"SIMc7i.large.JRTCKXETXF.6YS6EN2CT7","unit":"Hrs"}},"sku":"SIMc7i.large","termAttributes":{}}}},"version":"20261101000000","publicationDate":"2026-11-30T00:00:00Z"}`
	if answer.PriceList[0] != want {
		t.Errorf("the price is\n%s\nwant\n%s", answer.PriceList[0], want)
	}
	c.wantRefusedAsk("InvalidParameterException", "pricing", "GetProducts",
		with{"ServiceCode": "AmazonEC2", "Filters": []with{{"Type": "TERM_MATCH", "Field": "colour", "Value": "red"}}})
}

func TestATokenForARoleSaysWhoseItIs(t *testing.T) {
	c := newCaller(t, Options{})
	form := func(action string, more ...string) string {
		values := url.Values{"Action": {action}, "Version": {"2011-06-15"}}
		for index := 0; index < len(more); index += 2 {
			values.Set(more[index], more[index+1])
		}
		return values.Encode()
	}
	c.service = "sts"
	if _, body := c.send(c.signed(), form("GetCallerIdentity")); !strings.Contains(body,
		"<Arn>arn:aws:iam::111122223333:user/fleet</Arn>") {
		t.Errorf("the caller is\n%s", body)
	}
	role := []string{"RoleArn", "arn:aws:iam::111122223333:role/fleet", "RoleSessionName", "night", "WebIdentityToken",
		"eyJ"}
	status, body := c.send(http.Header{}, form("AssumeRoleWithWebIdentity", role...))
	if status != 200 || !strings.Contains(body, "<Expiration>2026-11-30T07:00:00Z</Expiration>") {
		t.Fatalf("an unsigned web identity is answered with %d\n%s", status, body)
	}
	_, key, _ := strings.Cut(body, "<AccessKeyId>")
	key, _, _ = strings.Cut(key, "<")
	header := c.signed()
	header.Set("Authorization", strings.Replace(header.Get("Authorization"), "AKIDEXAMPLE", key, 1))
	if _, body := c.send(header, form("GetCallerIdentity")); !strings.Contains(body,
		"arn:aws:sts::111122223333:assumed-role/fleet/night") {
		t.Errorf("the assumed caller is\n%s", body)
	}
	if status, body := c.send(http.Header{}, form("AssumeRole", role...)); status != 401 {
		t.Errorf("an unsigned AssumeRole is answered with %d\n%s", status, body)
	}
	if status, body := c.send(c.signed(),
		form("AssumeRole", "RoleArn", "arn:aws:iam::999999999999:role/x", "RoleSessionName", "s")); status != 403 ||
		!strings.Contains(body, "<Code>AccessDenied</Code>") {
		t.Errorf("a role of another account is answered with %d\n%s", status, body)
	}
}
