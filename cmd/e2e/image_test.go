//go:build linux

package e2e

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// image is one of `image list --json`.
type image struct {
	Digest    string `json:"digest"`
	State     string `json:"state"`
	Instances int    `json:"instances"`
	Others    int    `json:"others"`
}

// image is the one whose digest is of a digit; the zero value: there is none.
func (w *workspace) image(digit string) (found image) {
	w.t.Helper()
	var all []image
	if err := json.Unmarshal([]byte(w.fleet(0, "image", "list", "--json").out), &all); err != nil {
		w.t.Fatal(err)
	}
	for _, i := range all {
		if strings.HasPrefix(i.Digest, "sha256:"+digit) {
			found = i
		}
	}
	return found
}

// A new image comes over a fleet of three: one canary that soaks, then the others,
// while the manager dies in the middle and one old host has a job that takes long.
func TestANewImageComesByACanaryAndGoesBackByARollback(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	g, wait := w.hold()
	command := "if [ -e " + w.path(
		"now",
	) + " ] && mkdir " + w.path(
		"held",
	) + " 2>/dev/null; then " + wait + "; echo > " + w.path(
		"finished",
	) + "; fi; exec sleep 0.2"
	d := definition{min: 3, max: 5, image: "a", soak: "3s", command: command}
	w.write(d.String())
	w.install()
	daemon := w.served()
	w.apply(0)
	before := w.shouldHave(3)
	if err := os.WriteFile(w.path("now"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	eventually(t, "see a job that takes long", func() bool { return exists(w.path("held")) })

	d.image = "b"
	w.write(d.String())
	if r := w.fleet(
		2,
		"plan",
		"--detailed-exitcode",
	); !strings.Contains(
		r.out,
		"rollout of image base (sha256:bbbb…): 0 of 1 canary healthy; 3 of 3 left",
	) {
		t.Errorf("the plan doesn't say how it begins:\n%s", r.out)
	}
	apply := w.start("apply", "--auto-approve")
	eventually(t, "see a canary", func() bool {
		b := w.image("b")
		if b.State == "canary" && b.Instances > 1 {
			t.Errorf("%d canaries, want 1", b.Instances)
		}
		return b.State == "canary" && b.Instances == 1
	})
	daemon.signal(syscall.SIGKILL)
	daemon.wait()
	apply.wait() // its connection was cut; that doesn't matter here
	daemon = w.served()
	eventually(t, "see the soak", func() bool {
		return strings.Contains(w.fleet(0, "explain", "demo").out, "1 canary healthy for") || w.image("b").State == "rolling"
	})
	// The host with the job drains, first or last, and stays until its job has ended.
	eventually(t, "see that it goes no further", func() bool {
		all := w.instances()
		draining := slices.ContainsFunc(all, func(i instance) bool { return i.State == "draining" })
		settled := !slices.ContainsFunc(all, func(i instance) bool { return i.State != "draining" && i.State != "healthy" })
		return draining && settled && w.image("b").State == "rolling" && w.held(before)
	})
	if exists(w.path("finished")) {
		t.Error("the job ended before it was let go")
	}
	g.letGo(t, 1)
	eventually(t, "see the new image everywhere", func() bool {
		b := w.image("b")
		return b.State == "active" && b.Instances == 3 && b.Others == 0
	})
	if !exists(w.path("finished")) {
		t.Error("the job on an old host was ended before its end")
	}
	w.apply(0)
	w.shouldHave(3)

	w.fleet(0, "image", "rollback", "demo", "--reason", "incident 12", "--auto-approve")
	eventually(t, "see the old image everywhere again", func() bool {
		a := w.image("a")
		return a.State == "active" && a.Instances == 3 && a.Others == 0 && w.image("b").State == "rolled_back"
	})
	if r := w.fleet(
		0,
		"plan",
	); !strings.Contains(r.out, "rolled back by ") ||
		!strings.Contains(
			r.out,
			"(incident 12): new instances boot image base (sha256:aaaa…), and the file says image base (sha256:bbbb…)",
		) {
		t.Errorf("the plan doesn't tell of the rollback:\n%s", r.out)
	}
	if r := w.fleet(0, "image", "rollback", "demo", "--auto-approve"); !strings.Contains(r.out, "already") {
		t.Errorf("a second rollback goes further back:\n%s", r.out)
	}
	w.fleet(0, "image", "rollout", "image.base", "--resume", "--auto-approve")
	eventually(t, "see a canary again", func() bool { return w.image("b").State == "canary" })
	daemon.stop()
	if err := os.RemoveAll(w.path("now")); err != nil {
		t.Fatal(err)
	}
	w.write(definition{removed: true}.String())
	w.apply(0)
	w.shouldBeEmpty()
}

// held says that the job that takes long is on one of these hosts, which drains.
func (w *workspace) held(old []instance) bool {
	for _, i := range w.instances() {
		wasThere := slices.ContainsFunc(old, func(o instance) bool { return o.ID == i.ID })
		if i.State == "draining" && wasThere && i.Runner != nil && i.Runner.Phase == "running" {
			return true
		}
	}
	return false
}
