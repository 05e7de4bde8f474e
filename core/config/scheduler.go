package config

import (
	"cmp"
	"fmt"
	"net"
	"net/url"
	"slices"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

var schedulerTypes = []string{fleet.SchedulerForgeyard, fleet.SchedulerReviewOS}

func (l *loader) readScheduler(block *body) {
	kind := block.labels[0]
	if !slices.Contains(schedulerTypes, kind) {
		l.fail(block.header, block.where, fmt.Sprintf("There is no scheduler of type %q", clip(kind)), didYouMean(kind, schedulerTypes))
	}
	block.scope = l.scope.withSecrets()
	result := fleet.Scheduler{Address: fleet.SchedulerAddress(kind + "." + block.labels[1])}
	block.need("url", "url = \"https://ci.example\"")
	block.need("token", "token = secret(\"env:NAME\")")
	result.URL = block.schedulerURL("url")
	result.Token, _ = block.secret("token")
	result.MetricsToken, _ = block.secret("metrics_token")
	queues := block.children("queue", "NAME")
	if kind == fleet.SchedulerForgeyard {
		block.only("metrics_token", kind)
		for _, queue := range queues {
			l.fail(queue.header, block.where, "A forgeyard scheduler has no queues",
				"It says itself what its jobs need. Queue blocks belong to schedulers of type reviewos.")
		}
	}
	names, ids, classes := map[string]*body{}, map[int64]*body{}, map[string]*body{}
	for _, queue := range queues {
		one := l.queue(queue)
		twice := false
		for _, before := range []*body{names[one.Name], ids[one.ID]} {
			if before != nil {
				twice = true
				l.fail(queue.header, block.where, fmt.Sprintf("The queue %q has the name or id of another", one.Name),
					fmt.Sprintf("The first one is at %s. Each queue is mapped once.", place(before.header)))
				break
			}
		}
		if before := classes[one.Class.Name]; !twice && one.Class.Name != "" && before != nil {
			l.fail(queue.header, block.where, fmt.Sprintf("The queue %q has the capacity class of another", one.Name),
				fmt.Sprintf("The first one is at %s. A runner is in one queue, and its class says in which: give this queue a class of its own.", place(before.header)))
		}
		classes[one.Class.Name] = queue
		names[one.Name] = queue
		if one.ID != 0 {
			ids[one.ID] = queue
		}
		result.Queues = append(result.Queues, one)
	}
	slices.SortFunc(result.Queues, func(a, b fleet.SchedulerQueue) int { return cmp.Compare(a.Name, b.Name) })
	block.close()
	l.definition.Schedulers = append(l.definition.Schedulers, result)
	l.schedulerBodies[result.Address] = pluginBody{where: block.where, header: block.header, syntax: block.syntax}
}

// only refuses an attribute that a type of scheduler doesn't have.
func (b *body) only(name, kind string) {
	if attribute := b.syntax.Attributes[name]; attribute != nil {
		b.failHidden(attribute.NameRange, " = (hidden)", b.where, fmt.Sprintf("A %s scheduler has no %s", kind, name), "Remove it.")
	}
}

// schedulerURL is an http or https URL; http only on this machine, since a token
// goes with every call.
func (b *body) schedulerURL(name string) string {
	text, ok := b.text(name)
	if !ok {
		return ""
	}
	parsed, err := url.Parse(text)
	if err != nil || parsed.Scheme != "https" && parsed.Scheme != "http" || parsed.Hostname() == "" || parsed.RawQuery != "" || parsed.Fragment != "" || parsed.User != nil {
		b.failHidden(b.syntax.Attributes[name].NameRange, " = (hidden)", b.where, fmt.Sprintf("%q is no URL of a scheduler", name), "Write where it answers, such as \"https://ci.example\", without user, query or fragment.")
		return ""
	}
	if address := net.ParseIP(parsed.Hostname()); parsed.Scheme == "http" && parsed.Hostname() != "localhost" && !address.IsLoopback() {
		b.fail(b.at(name), b.where, fmt.Sprintf("%q must be https: %q", name, clip(text)), "The token goes with every call. Plain http works on this machine only, as http://127.0.0.1.")
		return ""
	}
	return text
}

// queue maps a queue, of which the scheduler says only its name and counts.
func (l *loader) queue(block *body) fleet.SchedulerQueue {
	result := fleet.SchedulerQueue{Name: block.labels[0]}
	block.need("id", "id = 7")
	block.need("capacity_class", "capacity_class = capacity_class.NAME")
	id, _ := block.count("id", 1, 1<<31-1)
	result.ID = int64(id)
	if name, ok := block.reference("capacity_class", "capacity_class"); ok {
		result.Class = l.classes[name]
	}
	result.Pool, _ = block.text("pool")
	result.Tenant, _ = block.text("tenant")
	result.Project, _ = block.text("project")
	result.Preemptible, _ = block.boolean("preemptible")
	result.Hostile, _ = block.boolean("hostile")
	result.Labels, _ = block.names("labels")
	result.Tags, _ = block.textMap("tags")
	if job := block.single("job"); job != nil {
		result.Job.CPUMilli, _ = job.cpu("cpu")
		result.Job.MemoryBytes, _ = job.size("memory")
		result.Job.DiskBytes, _ = job.size("disk")
		job.close()
		host := result.Class.Resources
		for _, one := range []struct {
			name      string
			job, host int64
			what      string
		}{{"cpu", result.Job.CPUMilli, host.CPUMilli, cpuText(host.CPUMilli)}, {"memory", result.Job.MemoryBytes, host.MemoryBytes, sizeText(host.MemoryBytes)}, {"disk", result.Job.DiskBytes, host.DiskBytes, sizeText(host.DiskBytes)}} {
			if one.host > 0 && one.job > one.host {
				l.fail(job.at(one.name), job.where, fmt.Sprintf("A job takes more %s than a host has", one.name),
					fmt.Sprintf("A host of the class %q has %s, so no job of the queue would ever run. Lower it, or map the queue to a larger class.", result.Class.Name, one.what))
			}
		}
	}
	block.close()
	return result
}
