package aws

import (
	"errors"
	"fmt"
	"net/url"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider"
	"github.com/forgeyard/forgeyard-fleet/plugins/aws/internal/refusal"
)

// codeOf is what the API refused with; empty: it answered nothing that can be read.
func codeOf(err error) string {
	if refused, ok := errors.AsType[smithy.APIError](err); ok {
		return refused.ErrorCode()
	}
	return ""
}

// provesNothingMade says whether the API surely refused, rather than failed or
// said nothing.
func provesNothingMade(err error) bool {
	code := codeOf(err)
	return code != "" && !refusal.Of(code).Fault
}

// classified says what was being done, and what the host does about the failure.
func classified(err error, doing string, arguments ...any) *provider.Error {
	meaning := refusal.Of(codeOf(err))
	detailed := &provider.Error{Class: meaning.Class, RetryAfter: meaning.RetryAfter(),
		Err: fmt.Errorf(doing+": %w", append(arguments, said{err})...)}
	if answered, ok := errors.AsType[*awshttp.ResponseError](err); ok {
		detailed.RequestID = answered.ServiceRequestID()
	}
	return detailed
}

// said is an error of the SDK in the words of the API, without the SDK's own around
// them, which name each layer that it went through.
type said struct{ error }

func (s said) Unwrap() error { return s.error }

func (s said) Error() string {
	refused, ok := errors.AsType[smithy.APIError](s.error)
	if !ok {
		if sent, ok := errors.AsType[*url.Error](s.error); ok {
			return sent.Error()
		}
		return s.error.Error()
	}
	text := refused.ErrorCode()
	if refused.ErrorMessage() != "" {
		text += ": " + refused.ErrorMessage()
	}
	if answered, ok := errors.AsType[*awshttp.ResponseError](s.error); ok && answered.ServiceRequestID() != "" {
		text += " (request " + answered.ServiceRequestID() + ")"
	}
	return text
}
