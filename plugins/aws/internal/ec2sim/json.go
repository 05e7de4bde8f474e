package ec2sim

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// jsonOperation is one action of a service that speaks JSON. It is given the
// lock, and has read the request into its own type.
type jsonOperation func(s *Simulator, now time.Time, body []byte) (any, *apiError)

// jsonServices tell by the signature's service which actions there are, and
// which version of the protocol the answer is in.
var jsonServices = map[string]struct {
	target, version string
	operations      map[string]jsonOperation
}{
	"sqs": {"AmazonSQS", "1.0", map[string]jsonOperation{
		"GetQueueUrl":        (*Simulator).getQueueURL,
		"GetQueueAttributes": (*Simulator).getQueueAttributes,
		"DeleteMessage":      (*Simulator).deleteMessage,
		"DeleteMessageBatch": (*Simulator).deleteMessageBatch,
	}},
	"pricing": {"AWSPriceListService", "1.1", map[string]jsonOperation{"GetProducts": (*Simulator).getProducts}},
	"servicequotas": {"ServiceQuotasV20190624", "1.1",
		map[string]jsonOperation{"GetServiceQuota": (*Simulator).getServiceQuota,
			"ListServiceQuotas": (*Simulator).listServiceQuotas}},
}

// identifyJSON tells by the header X-Amz-Target which action is asked for.
func (s *Simulator) identifyJSON(service string, request *http.Request, body string) call {
	known := jsonServices[service]
	contentType := "application/x-amz-json-" + known.version
	word := func(requestID string, refusal *apiError) reply {
		text := encodeJSON(map[string]string{"__type": refusal.code, "message": refusal.message})
		return reply{status: refusal.status, contentType: contentType,
			header: map[string]string{"X-Amzn-RequestId": requestID}, body: text}
	}
	target := request.Header.Get("X-Amz-Target")
	action, ok := strings.CutPrefix(target, known.target+".")
	if !ok {
		return s.refusedCall("", word,
			refuse(400, "UnknownOperationException", "the target %q is none of %s", target, known.target))
	}
	if got := request.Header.Get("Content-Type"); got != contentType {
		return s.refusedCall(action, word,
			refuse(415, "SerializationException", "the body is of type %q, expected %q", got, contentType))
	}
	run := func(operation jsonOperation) reply {
		s.mutex.Lock()
		defer s.mutex.Unlock()
		now := s.now()
		s.settle(now)
		answer, refusal := operation(s, now, []byte(body))
		if refusal != nil {
			return word(s.requestID(), refusal)
		}
		return reply{status: 200, contentType: contentType, header: map[string]string{"X-Amzn-RequestId": s.requestID()},
			body: encodeJSON(answer)}
	}
	if service == "sqs" && action == "ReceiveMessage" {
		return call{operation: action, refused: word, run: func(ctx context.Context) reply {
			return run(s.waitForMessages(ctx, []byte(body)))
		}}
	}
	operation, ok := known.operations[action]
	if !ok {
		return s.refusedCall(action, word,
			refuse(400, "UnknownOperationException", "the simulator has no operation %s", target))
	}
	return call{operation: action, refused: word, run: func(context.Context) reply { return run(operation) }}
}

func encodeJSON(value any) []byte {
	text, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("ec2sim: an answer can't be written: %v", err))
	}
	return text
}

// decode reads a request; what it doesn't know it refuses.
func decode(body []byte, into any) *apiError {
	decoder := json.NewDecoder(strings.NewReader(string(body)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return refuse(400, "SerializationException", "the request can't be read: %v", err)
	}
	return nil
}
