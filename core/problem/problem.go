package problem

import (
	"encoding/json"
	"net/http"
)

// MediaType is the Content-Type of a problem.
const MediaType = "application/problem+json"

// Problem is an answer of an HTTP status of 400 and above. It holds nothing of the request's
// values: requests may carry secrets, and clients log problems.
type Problem struct {
	Type   string `json:"type,omitempty" doc:"A URI of the kind of problem; mostly absent."`
	Title  string `json:"title" doc:"The status in words."`
	Status int    `json:"status" doc:"The status code."`
	Detail string `json:"detail" doc:"What went wrong, and what to do."`
	Code   string `json:"code,omitempty" doc:"What kind of problem it is, for programs."`
	// Fields are about single values of an invalid request.
	Fields []Field `json:"fields,omitempty" doc:"With invalid: which values, and what is wrong with each."`
}

// Field is one invalid value of a request.
type Field struct {
	Location string `json:"location" doc:"Where it is: body.name, query.limit."`
	Message  string `json:"message" doc:"What was expected."`
}

// The codes of problems that any HTTP server has.
const (
	CodeBadRequest = "bad_request"
	CodeTooLarge   = "too_large"
	CodeMediaType  = "media_type"
	CodeInvalid    = "invalid"
	CodeInternal   = "internal"
)

// New is the problem of a status with its detail.
func New(status int, detail string) *Problem {
	return &Problem{Title: http.StatusText(status), Status: status, Detail: detail}
}

// Error is the detail, and what is wrong with single values.
func (p *Problem) Error() string {
	text := p.Detail
	for _, f := range p.Fields {
		text += "; " + f.Location + ": " + f.Message
	}
	return text
}

// GetStatus is the status code, for huma.
func (p *Problem) GetStatus() int { return p.Status }

// ContentType is MediaType, for huma.
func (p *Problem) ContentType(string) string { return MediaType }

// Write answers a request with p, which may be a problem with further members. Its status
// is p.GetStatus(). A caller that hung up isn't an error.
func Write(w http.ResponseWriter, p interface{ GetStatus() int }) {
	if p.GetStatus() == http.StatusUnauthorized && w.Header().Get("WWW-Authenticate") == "" {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	w.Header().Set("Content-Type", MediaType)
	w.WriteHeader(p.GetStatus())
	_ = json.NewEncoder(w).Encode(p)
}
