package aws

import (
	"context"
	"fmt"
	"strconv"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider"
)

const (
	// longPoll is how long the service holds a question while the queue is empty: the
	// most that it takes.
	longPoll = 20 * time.Second
	// hidden is how long a message that was read isn't given to anybody. What isn't
	// deleted until then comes again.
	hidden = 30 * time.Second
	// mostMessages is what one call reads or deletes.
	mostMessages = 10
)

// queue is where EventBridge writes what happens to machines.
type queue struct {
	url     string
	api     *sqs.Client
	patient time.Duration // how long one call may take
}

// check finds a queue that isn't there or may not be read while somebody is looking.
// A condition that may pass doesn't prevent the start.
func (q *queue) check(ctx context.Context) error {
	ctx, end := context.WithTimeout(ctx, min(q.patient, besides))
	defer end()
	_, err := q.api.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{
		QueueUrl:       sdk.String(q.url),
		AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameApproximateNumberOfMessages},
	})
	if err == nil {
		return nil
	}
	switch what := classified(err, "look at the queue"); what.Class {
	case provider.Invalid, provider.Permission:
		return provider.Diagnostic{Path: provider.At("interruption_queue"), Summary: "The queue can't be read",
			Detail: what.Error() + ". Write the URL of a queue of this region, which the credentials may read, or leave it out."}
	}
	return nil
}

// receive waits for messages, as long as the service lets it.
func (q *queue) receive(ctx context.Context) ([]types.Message, error) {
	ctx, end := context.WithTimeout(ctx, longPoll+q.patient)
	defer end()
	answer, err := q.api.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{
		QueueUrl: sdk.String(q.url), MaxNumberOfMessages: mostMessages,
		WaitTimeSeconds: int32(longPoll.Seconds()), VisibilityTimeout: int32(hidden.Seconds()),
	})
	if err != nil {
		return nil, classified(err, "read the queue %s", q.url)
	}
	return answer.Messages, nil
}

// remove deletes messages, also after the caller has stopped waiting: what was
// handed over needn't be sent again.
func (q *queue) remove(ctx context.Context, messages []types.Message) error {
	if len(messages) == 0 {
		return nil
	}
	ctx, end := context.WithTimeout(context.WithoutCancel(ctx), q.patient)
	defer end()
	input := &sqs.DeleteMessageBatchInput{QueueUrl: sdk.String(q.url)}
	for n, one := range messages {
		input.Entries = append(input.Entries,
			types.DeleteMessageBatchRequestEntry{Id: sdk.String(strconv.Itoa(n)), ReceiptHandle: one.ReceiptHandle})
	}
	answer, err := q.api.DeleteMessageBatch(ctx, input)
	switch {
	case err != nil:
		return classified(err, "delete %d messages of the queue %s", len(messages), q.url)
	case len(answer.Failed) > 0:
		first := answer.Failed[0]
		return fmt.Errorf("delete %d messages of the queue %s: %d are still there, the first for %s %s",
			len(messages), q.url, len(answer.Failed), sdk.ToString(first.Code), sdk.ToString(first.Message))
	}
	return nil
}
