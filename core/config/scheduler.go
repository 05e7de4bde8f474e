package config

import (
	"cmp"
	"fmt"
	"net"
	"net/url"
	"slices"

	"github.com/forgeyard/forgeyard-fleet/core/config/diagnostic"
	"github.com/forgeyard/forgeyard-fleet/core/config/quantity"
	"github.com/forgeyard/forgeyard-fleet/core/config/suggestion"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

var schedulerTypes = []string{fleet.SchedulerForgeyard, fleet.SchedulerReviewOS}

func (l *loader) readScheduler(block *body) {
	kind := block.labels[0]
	if !slices.Contains(schedulerTypes, kind) {
		l.Fail(
			block.header,
			block.where,
			fmt.Sprintf("Unknown scheduler type %q", diagnostic.Clip(kind)),
			suggestion.For(kind, "types", schedulerTypes),
		)
	}
	block.scope = l.scope.WithSecrets()
	var written schedulerBlock
	block.read(&written)
	block.close()
	result := fleet.Scheduler{
		Address: fleet.SchedulerAddress(kind + "." + written.Name),
		URL:     written.URL, Token: written.Token, MetricsToken: written.MetricsToken,
	}
	checkSchedulerURL(block, written.URL)
	if kind == fleet.SchedulerForgeyard {
		refuseForgeyard(block)
	}
	for i, queue := range written.Queues {
		one := queue.queue(l.classes[queue.Class])
		for _, job := range block.inner["queue"][i].inner["job"] {
			checkJob(job, one)
		}
		result.Queues = append(result.Queues, one)
	}
	checkQueues(block, written.Queues)
	slices.SortFunc(result.Queues, func(a, b fleet.SchedulerQueue) int { return cmp.Compare(a.Name, b.Name) })
	l.definition.Schedulers = append(l.definition.Schedulers, result)
	l.schedulerBodies[result.Address] = blockSource{where: block.where, header: block.header, syntax: block.syntax}
}

// refuseForgeyard refuses what a scheduler of the type forgeyard doesn't have.
func refuseForgeyard(b *body) {
	if attribute := b.syntax.Attributes["metrics_token"]; attribute != nil {
		b.FailHidden(attribute.NameRange, " = (hidden)", b.where, "A forgeyard scheduler has no metrics_token", "Remove it.")
	}
	for _, queue := range b.inner["queue"] {
		b.Fail(queue.header, b.where, "A forgeyard scheduler has no queues",
			"It reports itself what its jobs need. Queue blocks belong to schedulers of type reviewos.")
	}
}

// checkQueues: the scheduler's numbers and the classes tell queues apart.
func checkQueues(b *body, queues []queueBlock) {
	ids, classes := map[int64]*body{}, map[string]*body{}
	for i, one := range queues {
		queue := b.inner["queue"][i]
		if before := ids[one.ID]; before != nil {
			b.Fail(queue.header, b.where, fmt.Sprintf("The queue %q has the id of another", one.Name),
				fmt.Sprintf("The first one is at %s. Each queue is mapped once.", diagnostic.Place(before.header)))
		} else if before := classes[one.Class]; before != nil {
			b.Fail(
				queue.header,
				b.where,
				fmt.Sprintf("The queue %q has the capacity class of another", one.Name),
				fmt.Sprintf(
					"The first one is at %s. A runner is in one queue, and its class determines which: give this queue a class "+
						"of its own.",
					diagnostic.Place(before.header),
				),
			)
		}
		if one.Class != "" {
			classes[one.Class] = queue
		}
		if one.ID != 0 {
			ids[one.ID] = queue
		}
	}
}

// checkSchedulerURL: an http or https URL; http only on this machine, since a token
// goes with every call.
func checkSchedulerURL(b *body, text string) {
	if !b.given("url") {
		return
	}
	parsed, err := url.Parse(text)
	if err != nil || parsed.Scheme != "https" && parsed.Scheme != "http" || parsed.Hostname() == "" ||
		parsed.RawQuery != "" ||
		parsed.Fragment != "" ||
		parsed.User != nil {
		b.FailHidden(b.syntax.Attributes["url"].NameRange, " = (hidden)", b.where, "Invalid URL for url",
			"Use the scheduler's address, such as \"https://ci.example\", without user, query or fragment.")
		return
	}
	if address := net.ParseIP(
		parsed.Hostname(),
	); parsed.Scheme == "http" && parsed.Hostname() != "localhost" &&
		!address.IsLoopback() {
		b.Fail(b.at("url"), b.where, fmt.Sprintf("Invalid URL %q for url", diagnostic.Clip(text)),
			"Use https: the token goes with every call. Plain http works on this machine only, as http://127.0.0.1.")
	}
}

// queue maps a queue, of which the scheduler says only its name and counts.
func (q *queueBlock) queue(class fleet.CapacityClass) fleet.SchedulerQueue {
	result := fleet.SchedulerQueue{
		Name: q.Name, ID: q.ID, Pool: q.Pool, Tenant: q.Tenant, Project: q.Project, Preemptible: q.Preemptible,
		Hostile: q.Hostile, Class: class, Labels: q.Labels, Tags: q.Tags,
	}
	if q.Job != nil {
		result.Job = fleet.ResourceCapacity{
			CPUMilli:    q.Job.CPUMilli,
			MemoryBytes: q.Job.MemoryBytes,
			DiskBytes:   q.Job.DiskBytes,
		}
	}
	return result
}

// schedulerBlockOf is the block that means a scheduler.
func schedulerBlockOf(s fleet.Scheduler) *schedulerBlock {
	block := &schedulerBlock{URL: s.URL, Token: s.Token, MetricsToken: s.MetricsToken}
	for _, q := range s.Queues {
		block.Queues = append(block.Queues, queueBlock{
			Name: q.Name, ID: q.ID, Class: q.Class.Name, Pool: q.Pool, Tenant: q.Tenant, Project: q.Project,
			Preemptible: q.Preemptible, Hostile: q.Hostile, Labels: q.Labels, Tags: q.Tags,
			Job: &jobBlock{q.Job.CPUMilli, q.Job.MemoryBytes, q.Job.DiskBytes},
		})
	}
	return block
}

// checkJob: a job that takes more than an instance has could never run.
func checkJob(job *body, queue fleet.SchedulerQueue) {
	class, takes := queue.Class.Resources, queue.Job
	for _, one := range []struct {
		name        string
		takes, have int64
		text        string
	}{
		{"cpu", takes.CPUMilli, class.CPUMilli, quantity.CPUText(class.CPUMilli)},
		{"memory", takes.MemoryBytes, class.MemoryBytes, quantity.SizeText(class.MemoryBytes)},
		{"disk", takes.DiskBytes, class.DiskBytes, quantity.SizeText(class.DiskBytes)},
	} {
		if one.have > 0 && one.takes > one.have {
			job.Fail(
				job.at(one.name),
				job.where,
				fmt.Sprintf("A job takes more %s than an instance has", one.name),
				fmt.Sprintf(
					"An instance of the class %q has %s, so no job of the queue would ever run. Lower it, or map the queue to a "+
						"larger class.",
					queue.Class.Name,
					one.text,
				),
			)
		}
	}
}
