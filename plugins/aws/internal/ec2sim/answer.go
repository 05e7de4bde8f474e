package ec2sim

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"net/http"
	"time"
)

// apiError is a refusal as the API words it. It isn't an error value: what the
// simulator itself can't do is a panic of a test, never a refusal.
type apiError struct {
	status  int
	code    string
	message string
}

func refuse(status int, code, format string, arguments ...any) *apiError {
	return &apiError{status: status, code: code, message: fmt.Sprintf(format, arguments...)}
}

// header begins each answer of EC2.
type header struct {
	RequestID string `xml:"requestId"`
}

func (h *header) head() *header { return h }

// answer is what an operation of EC2 gives back.
type answer interface{ head() *header }

const ec2Namespace = "http://ec2.amazonaws.com/doc/2016-11-15/"

// encodeAnswer writes the XML of one answer.
func encodeAnswer(action, requestID string, body answer) []byte {
	body.head().RequestID = requestID
	var text bytes.Buffer
	text.WriteString(xml.Header)
	encoder := xml.NewEncoder(&text)
	encoder.Indent("", "  ")
	element := xml.StartElement{Name: xml.Name{Space: ec2Namespace, Local: action + "Response"}}
	if err := encoder.EncodeElement(body, element); err != nil {
		panic(fmt.Sprintf("ec2sim: the answer of %s can't be written: %v", action, err))
	}
	return text.Bytes()
}

type errorAnswer struct {
	XMLName   xml.Name   `xml:"Response"`
	Errors    []errorXML `xml:"Errors>Error"`
	RequestID string     `xml:"RequestID"`
}

type errorXML struct {
	Code    string `xml:"Code"`
	Message string `xml:"Message"`
}

// encodeRefusal writes the XML that EC2 answers instead of a result.
func encodeRefusal(requestID string, refusal *apiError) []byte {
	text, err := xml.MarshalIndent(errorAnswer{
		Errors:    []errorXML{{Code: refusal.code, Message: refusal.message}},
		RequestID: requestID,
	}, "", "  ")
	if err != nil {
		panic(fmt.Sprintf("ec2sim: a refusal can't be written: %v", err))
	}
	return append([]byte(xml.Header), text...)
}

// reply is one HTTP answer, whole before a byte of it is sent: a fault decides
// after the effect whether it is.
type reply struct {
	status      int
	contentType string
	header      map[string]string
	body        []byte
}

func (r reply) write(w http.ResponseWriter) {
	w.Header().Set("Content-Type", r.contentType)
	for name, value := range r.header {
		w.Header().Set(name, value)
	}
	w.WriteHeader(r.status)
	_, _ = w.Write(r.body) // An error means that the client is gone.
}

// wireTime is how EC2 writes a moment.
func wireTime(moment time.Time) string {
	return moment.UTC().Format("2006-01-02T15:04:05.000Z")
}

type tagXML struct {
	Key   string `xml:"key"`
	Value string `xml:"value"`
}

type groupXML struct {
	GroupID   string `xml:"groupId"`
	GroupName string `xml:"groupName"`
}
