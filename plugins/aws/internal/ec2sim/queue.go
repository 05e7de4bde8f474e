package ec2sim

import (
	"context"
	"crypto/md5" //nolint:gosec // The API's check of a body, no secret.
	"encoding/hex"
	"fmt"
	"strconv"
	"time"
)

// queue is a standard queue: a message that isn't deleted comes again.
type queue struct {
	url      string
	messages []*message
}

type message struct {
	id, body, receipt string
	received          int
	hidden            time.Time // until when it isn't delivered
	sent              time.Time
}

// AddQueue makes a queue, to which from now on every event of the account goes,
// and gives its address.
func (s *Simulator) AddQueue(name string) string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	one := &queue{url: fmt.Sprintf("https://sqs.%s.amazonaws.com/%s/%s", s.options.Region, s.options.Account, name)}
	s.world.queues = append(s.world.queues, one)
	return one.url
}

// SendMessage puts any text into every queue, as another principal with the permission would.
func (s *Simulator) SendMessage(body string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.send(s.now(), body)
}

func (s *Simulator) send(now time.Time, body string) {
	for _, one := range s.world.queues {
		one.messages = append(one.messages,
			&message{id: fmt.Sprintf("00000000-0000-4000-9000-%012x", s.world.next()), body: body, sent: now})
	}
	s.wake()
}

func (s *Simulator) queueAt(url string) (*queue, *apiError) {
	for _, one := range s.world.queues {
		if one.url == url {
			return one, nil
		}
	}
	return nil, refuse(400, "QueueDoesNotExist", "The specified queue does not exist.")
}

type receiveRequest struct {
	QueueURL                    string   `json:"QueueUrl"`
	MaxNumberOfMessages         *int     `json:"MaxNumberOfMessages"`
	WaitTimeSeconds             int      `json:"WaitTimeSeconds"`
	VisibilityTimeout           *int     `json:"VisibilityTimeout"`
	AttributeNames              []string `json:"AttributeNames"`
	MessageSystemAttributeNames []string `json:"MessageSystemAttributeNames"`
	MessageAttributeNames       []string `json:"MessageAttributeNames"`
}

type messageJSON struct {
	ID         string            `json:"MessageId"`
	Receipt    string            `json:"ReceiptHandle"`
	MD5        string            `json:"MD5OfBody"`
	Body       string            `json:"Body"`
	Attributes map[string]string `json:"Attributes,omitempty"`
}

type receiveAnswer struct {
	Messages []messageJSON `json:"Messages,omitempty"`
}

// glance is how often a waiting request looks whether time alone has brought
// an event about; everything else wakes it.
const glance = 250 * time.Millisecond

// waitForMessages waits as long as the request says while there is no message,
// and then gives the operation that takes what is there.
func (s *Simulator) waitForMessages(ctx context.Context, body []byte) jsonOperation {
	var request receiveRequest
	if decode(body, &request) == nil && request.WaitTimeSeconds > 0 && request.WaitTimeSeconds <= 20 {
		ctx, cancel := context.WithTimeout(ctx, time.Duration(request.WaitTimeSeconds)*time.Second)
		defer cancel()
		for waiting := true; waiting; {
			there, changed := s.messagesThere(request.QueueURL)
			if there {
				break
			}
			timer := time.NewTimer(glance)
			select {
			case <-changed:
			case <-timer.C:
			case <-ctx.Done():
				waiting = false
			}
			timer.Stop()
		}
	}
	return (*Simulator).receiveMessage
}

// messagesThere tells whether there is something to take, or no queue at all,
// and otherwise what is closed when that may have changed.
func (s *Simulator) messagesThere(url string) (bool, <-chan struct{}) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	now := s.now()
	s.settle(now)
	found, refusal := s.queueAt(url)
	if refusal != nil {
		return true, nil
	}
	for _, one := range found.messages {
		if !now.Before(one.hidden) {
			return true, nil
		}
	}
	return false, s.changed
}

func (s *Simulator) receiveMessage(now time.Time, body []byte) (any, *apiError) {
	var request receiveRequest
	if refusal := decode(body, &request); refusal != nil {
		return nil, refusal
	}
	from, refusal := s.queueAt(request.QueueURL)
	if refusal != nil {
		return nil, refusal
	}
	most, hidden := 1, 30
	if request.MaxNumberOfMessages != nil {
		most = *request.MaxNumberOfMessages
	}
	if request.VisibilityTimeout != nil {
		hidden = *request.VisibilityTimeout
	}
	if most < 1 || most > 10 || hidden < 0 || hidden > 43200 || request.WaitTimeSeconds < 0 ||
		request.WaitTimeSeconds > 20 {
		return nil, refuse(400, "InvalidParameterValue",
			"%d messages hidden for %d s with a wait of %d s: expected 1 to 10, 0 to 43200 and 0 to 20", most, hidden,
			request.WaitTimeSeconds)
	}
	answer := receiveAnswer{}
	for _, one := range from.messages {
		if len(answer.Messages) == most {
			break
		}
		if now.Before(one.hidden) {
			continue
		}
		one.received++
		one.receipt = fmt.Sprintf("%s#%d", one.id, one.received)
		one.hidden = now.Add(time.Duration(hidden) * time.Second)
		sum := md5.Sum([]byte(one.body)) //nolint:gosec // As above.
		answer.Messages = append(answer.Messages,
			messageJSON{one.id, one.receipt, hex.EncodeToString(sum[:]), one.body, map[string]string{
				"ApproximateReceiveCount": strconv.Itoa(one.received),
				"SentTimestamp":           strconv.FormatInt(one.sent.UnixMilli(), 10)}})
	}
	return answer, nil
}

// forget takes away the message of a receipt. A receipt of an earlier reading
// isn't an error and does nothing, as in a standard queue.
func (q *queue) forget(receipt string) {
	for _, one := range q.messages {
		if one.receipt == receipt && receipt != "" {
			q.messages = without(q.messages, one)
			return
		}
	}
}

func (s *Simulator) deleteMessage(_ time.Time, body []byte) (any, *apiError) {
	var request struct {
		QueueURL string `json:"QueueUrl"`
		Receipt  string `json:"ReceiptHandle"`
	}
	if refusal := decode(body, &request); refusal != nil {
		return nil, refusal
	}
	from, refusal := s.queueAt(request.QueueURL)
	if refusal != nil {
		return nil, refusal
	}
	from.forget(request.Receipt)
	return struct{}{}, nil
}

func (s *Simulator) deleteMessageBatch(_ time.Time, body []byte) (any, *apiError) {
	type entry struct {
		ID      string `json:"Id"`
		Receipt string `json:"ReceiptHandle,omitempty"`
	}
	var request struct {
		QueueURL string `json:"QueueUrl"`
		Entries  []entry
	}
	if refusal := decode(body, &request); refusal != nil {
		return nil, refusal
	}
	from, refusal := s.queueAt(request.QueueURL)
	if refusal != nil {
		return nil, refusal
	}
	if len(request.Entries) == 0 || len(request.Entries) > 10 {
		return nil, refuse(400, "TooManyEntriesInBatchRequest", "a batch has 1 to 10 entries, not %d", len(request.Entries))
	}
	done, seen := []entry{}, map[string]bool{}
	for _, one := range request.Entries {
		if seen[one.ID] {
			return nil, refuse(400, "BatchEntryIdsNotDistinct", "Id %s repeated.", one.ID)
		}
		seen[one.ID] = true
		done = append(done, entry{ID: one.ID})
	}
	for _, one := range request.Entries {
		from.forget(one.Receipt)
	}
	return map[string]any{"Successful": done, "Failed": []entry{}}, nil
}

func (s *Simulator) getQueueURL(_ time.Time, body []byte) (any, *apiError) {
	var request struct {
		Name  string `json:"QueueName"`
		Owner string `json:"QueueOwnerAWSAccountId"`
	}
	if refusal := decode(body, &request); refusal != nil {
		return nil, refusal
	}
	found, refusal := s.queueAt(
		fmt.Sprintf("https://sqs.%s.amazonaws.com/%s/%s", s.options.Region, orElse(request.Owner, s.options.Account),
			request.Name))
	if refusal != nil {
		return nil, refusal
	}
	return map[string]string{"QueueUrl": found.url}, nil
}

func (s *Simulator) getQueueAttributes(now time.Time, body []byte) (any, *apiError) {
	var request struct {
		QueueURL string   `json:"QueueUrl"`
		Names    []string `json:"AttributeNames"`
	}
	if refusal := decode(body, &request); refusal != nil {
		return nil, refusal
	}
	found, refusal := s.queueAt(request.QueueURL)
	if refusal != nil {
		return nil, refusal
	}
	hidden := 0
	for _, one := range found.messages {
		if now.Before(one.hidden) {
			hidden++
		}
	}
	all := map[string]string{"ApproximateNumberOfMessages": strconv.Itoa(len(found.messages) - hidden),
		"ApproximateNumberOfMessagesNotVisible": strconv.Itoa(hidden), "VisibilityTimeout": "30"}
	asked := map[string]string{}
	for _, name := range request.Names {
		if value, ok := all[name]; ok {
			asked[name] = value
		} else if name == "All" {
			asked = all
		} else {
			return nil, refuse(400, "InvalidAttributeName", "Unknown Attribute %s.", name)
		}
	}
	return map[string]any{"Attributes": asked}, nil
}
