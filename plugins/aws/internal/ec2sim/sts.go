package ec2sim

import (
	"context"
	"encoding/xml"
	"fmt"
	"strings"
	"time"
)

type stsAnswer struct {
	XMLName   xml.Name
	Result    stsResult
	RequestID string `xml:"ResponseMetadata>RequestId"`
}

type stsResult struct {
	XMLName     xml.Name
	ARN         string          `xml:"Arn,omitempty"`
	User        string          `xml:"UserId,omitempty"`
	Account     string          `xml:"Account,omitempty"`
	Assumed     *assumedXML     `xml:"AssumedRoleUser"`
	Credentials *credentialsXML `xml:"Credentials"`
	Subject     string          `xml:"SubjectFromWebIdentityToken,omitempty"`
}

type assumedXML struct {
	ID  string `xml:"AssumedRoleId"`
	ARN string `xml:"Arn"`
}

type credentialsXML struct {
	Key        string `xml:"AccessKeyId"`
	Secret     string `xml:"SecretAccessKey"`
	Token      string `xml:"SessionToken"`
	Expiration string `xml:"Expiration"`
}

const stsNamespace = "https://sts.amazonaws.com/doc/2011-06-15/"

// identifySTS reads a request for the token service. AssumeRoleWithWebIdentity
// is the only one that comes unsigned: the token is its credential.
func (s *Simulator) identifySTS(body string, signed signer) call {
	request, refusal := parseForm(body)
	if refusal != nil {
		return s.refusedCall("", stsRefusal, refusal)
	}
	action := request["Action"]
	return call{operation: action, refused: stsRefusal, run: func(context.Context) reply {
		s.mutex.Lock()
		defer s.mutex.Unlock()
		result, refusal := s.runSTS(s.now(), action, request, signed)
		if refusal != nil {
			return stsRefusal(s.requestID(), refusal)
		}
		result.XMLName.Local = action + "Result"
		text, err := xml.MarshalIndent(
			stsAnswer{xml.Name{Space: stsNamespace, Local: action + "Response"}, *result, s.requestID()}, "", "  ")
		if err != nil {
			panic(fmt.Sprintf("ec2sim: the answer of %s can't be written: %v", action, err))
		}
		return reply{status: 200, contentType: "text/xml", body: text}
	}}
}

func (s *Simulator) runSTS(now time.Time, action string, request form, signed signer) (*stsResult, *apiError) {
	switch action {
	case "GetCallerIdentity":
		if role, session, ok := s.assumedBy(signed.accessKey); ok {
			return &stsResult{ARN: s.assumedARN(role, session), User: "AROA0SIMULATED0000001:" + session,
				Account: s.options.Account}, nil
		}
		return &stsResult{ARN: "arn:aws:iam::" + s.options.Account + ":user/fleet", User: "AIDA0SIMULATED0000001",
			Account: s.options.Account}, nil
	case "AssumeRole", "AssumeRoleWithWebIdentity":
		return s.assume(now, request, action)
	}
	return nil, refuse(400, "InvalidAction", "Could not find operation %s for version 2011-06-15", action)
}

func (s *Simulator) assume(now time.Time, request form, action string) (*stsResult, *apiError) {
	role, session := request["RoleArn"], request["RoleSessionName"]
	prefix := "arn:aws:iam::" + s.options.Account + ":role/"
	if !strings.HasPrefix(role, prefix) || session == "" {
		return nil, refuse(403, "AccessDenied",
			"Not authorized to perform sts:%s on %q: the account has roles %s..., and a session needs a name", action, role,
			prefix)
	}
	if action == "AssumeRoleWithWebIdentity" && request["WebIdentityToken"] == "" {
		return nil, refuse(400, "InvalidIdentityToken", "No OpenIDConnect token was given")
	}
	seconds, refusal := request.number("DurationSeconds", 3600)
	if refusal != nil || seconds < 900 || seconds > 43200 {
		return nil, refuse(400, "ValidationError", "DurationSeconds is %q; expected 900 to 43200", request["DurationSeconds"])
	}
	key := fmt.Sprintf("ASIASIM%013d", s.world.next())
	s.world.sessions[key] = [2]string{strings.TrimPrefix(role, prefix), session}
	result := &stsResult{
		Assumed: &assumedXML{"AROA0SIMULATED0000001:" + session, s.assumedARN(strings.TrimPrefix(role, prefix), session)},
		Credentials: &credentialsXML{key, "simulated-" + key, "simulated-session-" + key,
			now.Add(time.Duration(seconds) * time.Second).UTC().Format(time.RFC3339)},
	}
	if action == "AssumeRoleWithWebIdentity" {
		result.Subject = "simulated-subject"
	}
	return result, nil
}

func (s *Simulator) assumedBy(key string) (role, session string, ok bool) {
	found, ok := s.world.sessions[key]
	return found[0], found[1], ok
}

func (s *Simulator) assumedARN(role, session string) string {
	return "arn:aws:sts::" + s.options.Account + ":assumed-role/" + role + "/" + session
}

type stsErrorAnswer struct {
	XMLName   xml.Name `xml:"https://sts.amazonaws.com/doc/2011-06-15/ ErrorResponse"`
	Type      string   `xml:"Error>Type"`
	Code      string   `xml:"Error>Code"`
	Message   string   `xml:"Error>Message"`
	RequestID string   `xml:"RequestId"`
}

func stsRefusal(requestID string, refusal *apiError) reply {
	text, err := xml.MarshalIndent(
		stsErrorAnswer{Type: "Sender", Code: refusal.code, Message: refusal.message, RequestID: requestID}, "", "  ")
	if err != nil {
		panic(fmt.Sprintf("ec2sim: a refusal can't be written: %v", err))
	}
	return reply{status: refusal.status, contentType: "text/xml", body: text}
}
