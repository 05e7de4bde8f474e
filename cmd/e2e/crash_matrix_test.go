//go:build linux

package e2e

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// story is a scenario in which something dies at points, one after the other in
// successive runs, and after which all must be as it was asked for.
type story struct {
	name string
	tell func(t *testing.T, points ...string)
}

// matrix is every point of the manager with the stories that reach it. NAME#2 is
// the second passing; what stands before a comma are earlier deaths without
// which the point isn't reached.
var matrix = []struct {
	story  story
	points []string
}{
	{
		installing,
		[]string{
			"binary-unnamed",
			"binary-named",
			"replacement-unnamed",
			"replacement-unnamed#2",
			"replacement-named",
			"replacement-named#2",
		},
	},
	{
		firstApply,
		[]string{
			"writer-locked",
			"migrations-unstarted",
			"migration-done",
			"migration-done#2",
			"store-claimed",
			"key-file-unnamed",
			"key-file-named",
			"key-file-unnamed#2",
			"key-file-named#2",
			"key-unremembered",
			"key-unremembered#2",
			"port-unremembered",
			"definition-uncommitted",
			"definition-committed",
			"request-uncommitted",
			"request-committed",
			"send-uncommitted",
			"send-committed",
			"provision-unsent",
			"provision-unsent#2",
			"provision-sent",
			"provision-answered",
			"host-uncommitted",
			"host-committed",
			"provision-answered,unknown-uncommitted",
			"provision-unsent,unknown-committed",
			"provision-unsent,absence-uncommitted",
			"provision-unsent,absence-committed",
			"enrollment-uncommitted",
			"enrollment-committed",
			"enrollment-answered",
			"contact-uncommitted",
			"contact-committed",
			"admission-uncommitted",
			"admission-committed",
			"admission-committed#2",
			"planning-stopped",
			"answers-stored",
			"plugins-stopped",
			"endpoint-closed",
			"store-closed",
		},
	},
	{renewal, []string{"renewal-unrecorded", "renewal-recorded", "renewal-answered"}},
	{scaleDown, []string{
		"definition-committed", "drain-uncommitted", "drain-committed", "stop-told", "idle-uncommitted",
		"terminate-sent", "end-committed",
	}},
	{
		replacement,
		[]string{
			"drain-committed",
			"termination-committed",
			"terminate-answered",
			"request-committed",
			"send-committed",
			"provision-sent",
			"host-committed",
			"admission-committed",
		},
	},
	{
		claim,
		[]string{
			"claim-uncommitted",
			"claim-committed",
			"claim-committed,claim-uncommitted",
			"claim-uncommitted,claim-committed",
		},
	},
	{
		release,
		[]string{
			"drain-uncommitted",
			"drain-committed",
			"stop-told",
			"idle-uncommitted",
			"termination-uncommitted",
			"termination-committed",
			"terminate-sent",
			"end-uncommitted",
			"end-committed",
			"retirement-uncommitted",
		},
	},
	{removal, []string{
		"drain-uncommitted", "stop-told", "stop-told#2", "termination-uncommitted", "termination-committed",
		"terminate-unsent", "terminate-unsent#2", "terminate-sent", "terminate-answered",
		"terminate-answered,gone-by-inspection-uncommitted", "end-uncommitted", "end-committed",
		"retirement-uncommitted", "retirement-committed",
	}},
}

// pluginMatrix is every point of the provider "local" with the stories that
// reach it.
var pluginMatrix = []struct {
	story  story
	points []string
}{
	{
		firstApply,
		[]string{
			"local-root-unmarked",
			"local-root-marked",
			"local-provision-begun",
			"local-directory-unnamed",
			"local-directory-named",
			"local-agent-unrecorded",
			"local-agent-recorded",
		},
	},
	{
		removal,
		[]string{
			"local-terminate-begun",
			"local-removal-marked",
			"local-agent-stopped",
			"local-directory-renamed",
			"local-directory-erased",
		},
	},
}

// Wherever the manager dies, the next one ends with exactly what was asked for.
func TestCrashOfTheManager(t *testing.T) {
	t.Parallel()
	for _, row := range matrix {
		for _, points := range row.points {
			t.Run(points+"/"+row.story.name, func(t *testing.T) {
				t.Parallel()
				row.story.tell(t, strings.Split(points, ",")...)
			})
		}
	}
}

var installing = story{"installing", func(t *testing.T, points ...string) {
	c := newCrashed(t, 1)
	for _, point := range points {
		c.dieAt(point, c.installs()...)
	}
	c.install()
	c.apply(0)
	c.mustBeMadeOnce(c.shouldBeRight())
}}

var firstApply = story{"first apply", func(t *testing.T, points ...string) {
	c := newCrashed(t, 2)
	c.install()
	c.applyDying(points)
	c.mustBeMadeOnce(c.shouldBeRight())
}}

var scaleDown = story{"scale down", func(t *testing.T, points ...string) {
	c := newCrashed(t, 2)
	c.install()
	c.apply(0)
	before := c.shouldBeRight()
	c.use(func(d *definition) { d.min = 1 })
	c.applyDying(points)
	if stays := c.shouldBeRight()[0].ID; before[0].ID != stays && before[1].ID != stays {
		t.Errorf("instance %s is new; of %v one should have stayed", stays, before)
	}
}}

var replacement = story{"replacement", func(t *testing.T, points ...string) {
	c := newCrashed(t, 2)
	c.install()
	c.apply(0)
	before := c.shouldBeRight()
	c.use(func(d *definition) { d.instance = "nice = 1" })
	c.applyDying(points)
	for _, i := range c.shouldBeRight() {
		if slices.ContainsFunc(before, func(o instance) bool { return o.ID == i.ID }) {
			t.Errorf("instance %s is outdated and was not replaced", i.ID)
		}
	}
	if operations := c.table("operation", "id"); len(operations) != 6 {
		t.Errorf("%d operations were stored; two hosts were made, removed and made again: %v", len(operations), operations)
	}
}}

var removal = story{"removal", func(t *testing.T, points ...string) {
	c := newCrashed(t, 2)
	c.install()
	c.apply(0)
	c.shouldBeRight()
	c.use(func(d *definition) { d.removed = true })
	c.applyDying(points)
	c.nothingShouldBeLeft()
}}

// renewal needs certificates that agents renew while somebody watches.
var renewal = story{"renewal", func(t *testing.T, points ...string) {
	c := newCrashed(t, 1)
	c.environ = append(c.environ, "FORGEYARD_CERTIFICATE_LIFE=4s")
	c.install()
	c.apply(0)
	before := c.shouldBeRight()
	for _, point := range points {
		c.dieAt(point, "serve", "--api-listen", "127.0.0.1:0")
	}
	c.apply(0)
	if after := c.shouldBeRight(); after[0].ID != before[0].ID || after[0].Runner.ID != before[0].Runner.ID {
		t.Errorf("the runner %v became %v", before[0], after[0])
	}
}}

// applyDying applies until it has died at each of the points, and then to its end.
func (c *crashed) applyDying(points []string) {
	c.t.Helper()
	for _, point := range points {
		if strings.HasPrefix(point, "local-") {
			c.pluginDiesAt(point)
			continue
		}
		c.dieAt(point, "apply", "--auto-approve")
	}
	c.apply(0)
}

// pluginDiesAt applies while the plugin dies at the point: alone, and the manager
// continues to the end, or with :wait together with its manager.
func (c *crashed) pluginDiesAt(point string) {
	c.t.Helper()
	told := c.path("plugin-reached")
	run := c.startWith(c.armed("FORGEYARD_PLUGIN_FAILPOINT", point, told), "apply", "--auto-approve")
	if strings.HasSuffix(point, ":wait") {
		c.pluginReaches(run, told)
		run.kill()
		pid, err := pidIn(told)
		if err != nil {
			c.t.Fatal(err)
		}
		if c.alive(pid) { // it may have ended with its manager
			_ = unix.Kill(pid, unix.SIGKILL)
		}
		return
	}
	if r := run.wait(); r.code != 0 || !exists(told) {
		c.t.Fatalf(
			"the plugin died at %s (%t), and forgeyard-fleet apply ended with %d\n%s%s",
			point,
			exists(told),
			r.code,
			r.out,
			r.err,
		)
	}
}

// pluginReaches waits until a plugin is at the point that it is armed for.
func (c *crashed) pluginReaches(run *command, told string) {
	c.t.Helper()
	eventually(c.t, "see the plugin reach "+filepath.Base(told), func() bool {
		if _, err := pidIn(told); err == nil {
			return true
		}
		select {
		case <-run.ended:
			r := run.wait()
			c.t.Fatalf("forgeyard-fleet apply ended with %d and its plugin never came to its point\n%s%s", r.code, r.out, r.err)
		default:
		}
		return false
	})
}

// A plugin that dies costs its manager nothing but time.
func TestCrashOfThePlugin(t *testing.T) {
	t.Parallel()
	for _, row := range pluginMatrix {
		for _, point := range row.points {
			t.Run(point+"/"+row.story.name, func(t *testing.T) {
				t.Parallel()
				row.story.tell(t, point)
			})
		}
	}
}

// The manager dies in the middle of a call, with the plugin just there.
func TestCrashOfThePluginAndItsManager(t *testing.T) {
	t.Parallel()
	for _, row := range pluginMatrix {
		for _, point := range row.points {
			t.Run(point+"/"+row.story.name, func(t *testing.T) {
				t.Parallel()
				row.story.tell(t, point+":wait")
			})
		}
	}
}
