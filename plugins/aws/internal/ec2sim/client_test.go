package ec2sim

import (
	"encoding/xml"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// caller signs requests as far as the simulator looks at a signature.
type caller struct {
	t         *testing.T
	simulator *Simulator
	region    string
	service   string
}

const signature = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

func authorization(region, service string) string {
	return "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20261130/" + region + "/" + service +
		"/aws4_request, SignedHeaders=host;x-amz-date, Signature=" + signature
}

// start is a fixed moment, so that answers are the same in every run.
var start = time.Date(2026, 11, 30, 6, 0, 0, 0, time.UTC)

func newCaller(t *testing.T, options Options) caller {
	t.Helper()
	if options.Now == nil {
		options.Now = func() time.Time { return start }
	}
	return caller{t, New(options), "us-east-1", "ec2"}
}

// send gives the status and the body; the status is 0 where the connection was cut.
func (c caller) send(header http.Header, body string) (int, string) {
	c.t.Helper()
	request, err := http.NewRequestWithContext(c.t.Context(), http.MethodPost, "https://ec2.us-east-1.amazonaws.com/",
		strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	request.Header = header
	response, err := c.simulator.Transport().RoundTrip(request)
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

func (c caller) signed() http.Header {
	return http.Header{"Authorization": {authorization(c.region, c.service)}, "X-Amz-Date": {"20261130T060000Z"}}
}

// call sends one action; parameters are pairs of a name and a value.
func (c caller) call(action string, parameters ...string) (int, string) {
	c.t.Helper()
	values := url.Values{"Action": {action}, "Version": {apiVersion}}
	for index := 0; index < len(parameters); index += 2 {
		values.Set(parameters[index], parameters[index+1])
	}
	return c.send(c.signed(), values.Encode())
}

// must fails the test where the action is refused.
func (c caller) must(action string, parameters ...string) string {
	c.t.Helper()
	status, body := c.call(action, parameters...)
	if status != 200 {
		c.t.Fatalf("%s answered %d:\n%s", action, status, body)
	}
	return body
}

// refused gives the code of the refusal and its status.
func (c caller) refused(action string, parameters ...string) (int, string) {
	c.t.Helper()
	status, body := c.call(action, parameters...)
	var answer errorAnswer
	if err := xml.Unmarshal([]byte(body), &answer); err != nil || len(answer.Errors) != 1 {
		c.t.Fatalf("%s answered %d, which is no refusal: %v\n%s", action, status, err, body)
	}
	return status, answer.Errors[0].Code
}

func (c caller) wantRefusal(code, action string, parameters ...string) {
	c.t.Helper()
	if _, got := c.refused(action, parameters...); got != code {
		c.t.Errorf("%s %q is refused with %s, want %s", action, parameters, got, code)
	}
}

func launchOne(more ...string) []string {
	return append(
		[]string{"ImageId", "ami-0a000000000000001", "InstanceType", "c7i.large", "MinCount", "1", "MaxCount", "1"}, more...)
}

type listed struct {
	Instances []struct {
		ID    string `xml:"instanceId"`
		Token string `xml:"clientToken"`
		State string `xml:"instanceState>name"`
	} `xml:"reservationSet>item>instancesSet>item"`
	Started []struct {
		ID    string `xml:"instanceId"`
		State string `xml:"instanceState>name"`
	} `xml:"instancesSet>item"`
	NextToken string `xml:"nextToken"`
}

func read(t *testing.T, body string) listed {
	t.Helper()
	var answer listed
	if err := xml.Unmarshal([]byte(body), &answer); err != nil {
		t.Fatalf("the answer is no XML: %v\n%s", err, body)
	}
	return answer
}

func (c caller) launch(more ...string) []string {
	c.t.Helper()
	var ids []string
	for _, one := range read(c.t, c.must("RunInstances", launchOne(more...)...)).Started {
		ids = append(ids, one.ID)
	}
	return ids
}
