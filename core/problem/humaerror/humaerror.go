package humaerror

import (
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/forgeyard/forgeyard-fleet/core/problem"
)

func init() { huma.NewError = refused }

// refused is what huma found wrong with a request before any handler saw it. Its messages
// about single values stay, the values themselves go.
func refused(status int, _ string, errs ...error) huma.StatusError {
	p := problem.New(status, "")
	switch status {
	case http.StatusUnprocessableEntity:
		p.Code, p.Detail = problem.CodeInvalid,
			"the request isn't valid: fields says where; the API's OpenAPI document has the forms"
		for _, err := range errs {
			if detailed, ok := err.(huma.ErrorDetailer); ok {
				d := detailed.ErrorDetail()
				if strings.Contains(d.Message, "json:") { // the decoder's messages have values and Go types
					d.Message = "expected a value of the documented form"
				}
				p.Fields = append(p.Fields, problem.Field{Location: d.Location, Message: d.Message})
			}
		}
	case http.StatusRequestEntityTooLarge:
		p.Code, p.Detail = problem.CodeTooLarge, "the request's body has more than this route accepts"
	case http.StatusUnsupportedMediaType:
		p.Code, p.Detail = problem.CodeMediaType, "send application/json"
	case http.StatusRequestTimeout:
		p.Code, p.Detail = problem.CodeBadRequest, "the request's body took too long to arrive"
	case http.StatusInternalServerError:
		p.Code, p.Detail = problem.CodeInternal, "internal error of the server; see its log"
	default:
		p.Code, p.Detail = problem.CodeBadRequest,
			"the body isn't the JSON of this route; the API's OpenAPI document has the forms"
	}
	return p
}
