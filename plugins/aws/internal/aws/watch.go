package aws

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider"
	"github.com/forgeyard/forgeyard-fleet/plugins/aws/internal/announcement"
)

// Watch tells what stands, and then what the interruption queue says. A queue that
// can't be read ends it: the host watches again, later each time. Without a queue
// there is nothing to tell, and the agents' own look at their metadata is all.
func (p *cloud) Watch(ctx context.Context) iter.Seq2[provider.Notice, error] {
	return func(yield func(provider.Notice, error) bool) {
		if p.queue == nil {
			<-ctx.Done()
			return
		}
		goOn, err := p.tellStanding(ctx, yield)
		for goOn && err == nil {
			var messages []sqstypes.Message
			if err = p.limits.reading.Take(ctx); err != nil {
				break
			}
			if messages, err = p.queue.receive(ctx); err == nil {
				goOn, err = p.handOver(ctx, messages, yield)
			}
		}
		if err != nil && ctx.Err() == nil {
			yield(provider.Notice{}, err)
		}
	}
}

// markedForTermination is the state of the request of a spot machine that has had its
// warning.
const markedForTermination = "marked-for-termination"

// tellStanding tells of the spot machines that are being taken away. The message
// that said so may have been read by a plugin whose manager has died since.
func (p *cloud) tellStanding(ctx context.Context, yield func(provider.Notice, error) bool) (goOn bool, err error) {
	marked := append(p.ours(), types.Filter{Name: sdk.String("status-code"), Values: []string{markedForTermination}})
	requests, err := p.spotRequests(ctx, &ec2.DescribeSpotInstanceRequestsInput{Filters: marked})
	for _, one := range requests {
		notice := provider.Notice{ID: markedForTermination + "/" + sdk.ToString(one.SpotInstanceRequestId),
			Kind:     provider.Interruption,
			Instance: sdk.ToString(one.InstanceId), Detail: "spot interruption: " + markedForTermination}
		if one.Status != nil && one.Status.UpdateTime != nil {
			notice.Deadline = one.Status.UpdateTime.Add(announcement.NoticeOfSpot)
		}
		if !yield(notice, nil) {
			return false, nil
		}
	}
	return true, err
}

// handOver tells what messages announce about our machines, and deletes them when
// they were told. What is about somebody else's machine or can't be read is deleted,
// too: it would come again for ever.
func (p *cloud) handOver(ctx context.Context, messages []sqstypes.Message, yield func(provider.Notice, error) bool) (
	goOn bool, err error) {
	told := make([]announcement.Announcement, len(messages))
	var named []string
	for n, one := range messages {
		read, err := announcement.Read(sdk.ToString(one.Body))
		if err != nil {
			p.logger.Warn("dropped a message of the interruption queue that can't be read", "message",
				sdk.ToString(one.MessageId), "error", err)
			continue
		}
		told[n] = read
		for _, notice := range read.Notices {
			named = append(named, notice.Instance)
		}
	}
	whose, err := p.whose(ctx, named)
	if err != nil {
		return false, err
	}
	var done []sqstypes.Message
	var foreign []string
	goOn = true
	for n, one := range messages {
		over := true
		for _, notice := range told[n].Notices {
			switch {
			case whose[notice.Instance] == ours:
				goOn = goOn && yield(notice, nil)
				over = over && goOn
			case whose[notice.Instance] == unseen && p.now().Sub(told[n].At) < listSettle:
				over = false
			default:
				foreign = append(foreign, notice.Instance)
			}
		}
		if over {
			done = append(done, one)
		}
	}
	if len(foreign) > 0 {
		slices.Sort(foreign)
		p.logger.Info("dropped what the interruption queue says of instances that aren't ours", "instances",
			strings.Join(slices.Compact(foreign), " "))
	}
	if err := p.queue.remove(ctx, done); err != nil {
		p.logger.Warn("messages that are done with come again", "error", err)
	}
	return goOn, nil
}

// owner is whose a machine is.
type owner int

const (
	// unseen: there is none of that name, or it is too young to be listed.
	unseen owner = iota
	ours
	somebodys
)

// whose says whose the machines are. One that isn't in the answer is unseen.
func (p *cloud) whose(ctx context.Context, ids []string) (map[string]owner, error) {
	found := map[string]owner{}
	slices.Sort(ids)
	for some := range slices.Chunk(slices.Compact(ids), mostValues) {
		seen, err := p.instances(ctx,
			&ec2.DescribeInstancesInput{Filters: []types.Filter{{Name: sdk.String("instance-id"), Values: some}}})
		if err != nil {
			return nil, fmt.Errorf("find out whose %s are: %w", strings.Join(some, ", "), err)
		}
		for _, one := range seen {
			whose := somebodys
			if read(one.Tags).installation() == p.installation && !copied(one) {
				whose = ours
			}
			found[sdk.ToString(one.InstanceId)] = whose
		}
	}
	return found, nil
}
