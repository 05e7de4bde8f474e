package agent

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/agent/isolation"
	"github.com/forgeyard/forgeyard-fleet/core/agent/metadata"
	"github.com/forgeyard/forgeyard-fleet/core/agentapi"
	"github.com/forgeyard/forgeyard-fleet/core/replacefile"
)

// noticeInterval is how often the metadata service is asked, as the platforms
// themselves advise.
const noticeInterval = 5 * time.Second

// noticesPath is where the agent keeps them over its own restart.
func noticesPath(c Config) string { return filepath.Join(c.StateDir, "notices.json") }

// interruptionPath is the file by which jobs hear that the host is taken away. It
// is in a folder that they can't write to, unless they are the agent's own user.
func interruptionPath(c Config, u *isolation.User) string {
	if u == nil {
		return filepath.Join(c.StateDir, "interruption")
	}
	return isolation.OtherUserFolder(c.host()) + ".interruption"
}

// InterruptionVariable is in the environment of every command: the file that is
// there while the host is about to be taken away.
const InterruptionVariable = "FORGEYARD_HOST_INTERRUPTION"

// interruptionFile is that file.
type interruptionFile struct {
	Deadline time.Time `json:"deadline,omitzero"`
	Detail   string    `json:"detail,omitempty"`
}

// loadNotices reads what stood when the agent ended: until the metadata service
// says otherwise it stands. What can't be read is asked for again.
func (r *runner) loadNotices() {
	content, err := os.ReadFile(noticesPath(r.Config))
	if err == nil {
		err = json.Unmarshal(content, &r.notices)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		r.Logger.Warn("could not read the stored notices; asking the metadata service again", "error", err)
	}
}

// startReadingNotices reads the notices when that is due, where the host has a platform
// that gives notice.
func (r *runner) startReadingNotices() {
	if r.Metadata == nil || r.readingNotices || time.Now().Before(r.noticesDue) {
		return
	}
	r.readingNotices = true
	go func() {
		found, err := r.metadata.Notices(r.background, r.Now())
		r.noticesRead <- noticesRead{found, err}
	}()
}

// noticesRead is one answer of the metadata service. With an error it is only a part.
type noticesRead struct {
	notices []metadata.Notice
	err     error
}

// keepNotices takes in an answer of the metadata service.
func (r *runner) keepNotices(l noticesRead) {
	r.readingNotices, r.noticesDue = false, time.Now().Add(r.NoticeInterval)
	if l.err != nil {
		if r.noticesFailed++; r.noticesFailed&(r.noticesFailed-1) == 0 {
			r.Logger.Warn(
				"reading notices from the metadata service failed; earlier notices stay in effect",
				"times",
				r.noticesFailed,
				"error",
				l.err,
			)
		}
	} else {
		r.noticesFailed = 0
	}
	var now []metadata.Notice
	for _, n := range l.notices {
		n.Detail = clip(n.Detail)
		if at := slices.IndexFunc(r.notices, n.Same); at >= 0 {
			n = r.notices[at]
		}
		now = append(now, n)
	}
	for _, n := range r.notices {
		if l.err != nil && !slices.ContainsFunc(now, func(other metadata.Notice) bool { return other.ID == n.ID }) {
			now = append(now, n)
		}
	}
	if now = now[:min(len(now), agentapi.MaxNotices)]; slices.Equal(now, r.notices) {
		return
	}
	r.notices = now
	for _, n := range now {
		r.Logger.Warn(
			"the platform announced a notice for this host",
			"kind",
			n.Kind,
			"deadline",
			n.Deadline,
			"detail",
			n.Detail,
		)
	}
	if len(now) == 0 {
		r.Logger.Info("the platform withdrew its notices for this host")
	}
	if err := writeStateJSON(noticesPath(r.Config), now); err != nil {
		r.Logger.Error("could not store the notices; a restarted agent asks for them again", "error", err)
	}
	r.updateInterruptionFile()
	r.scheduleHeartbeatIfChanged()
}

// interruption is the first end of this host that is announced, by its platform or
// by the manager; nil: none is.
func (r *runner) interruption() *metadata.Notice {
	var first *metadata.Notice
	for _, n := range append(slices.Clone(r.notices), r.managerNotices...) {
		if n.Kind == agentapi.NoticeInterruption &&
			(first == nil || first.Deadline.IsZero() || !n.Deadline.IsZero() && n.Deadline.Before(first.Deadline)) {
			first = &n
		}
	}
	return first
}

// keepInterruption takes in what the manager knows of this host's end. It says it
// in every answer as a duration, so that only a change counts.
func (r *runner) keepInterruption(told *agentapi.Interruption) {
	var now []metadata.Notice
	if told != nil {
		n := metadata.Notice{ID: "manager", Kind: agentapi.NoticeInterruption, Detail: told.Detail}
		if told.DeadlineSeconds != nil {
			n.Deadline = r.Now().Add(time.Duration(*told.DeadlineSeconds * float64(time.Second)))
		}
		if len(r.managerNotices) == 1 && n.Same(r.managerNotices[0]) {
			return
		}
		now = []metadata.Notice{n}
	}
	if now != nil || r.managerNotices != nil {
		r.managerNotices = now
		r.updateInterruptionFile()
	}
}

// updateInterruptionFile makes the file say what is so: it comes and goes whole.
func (r *runner) updateInterruptionFile() {
	var u *isolation.User
	if r.settled != nil {
		u = r.settled.User
	}
	path, n := interruptionPath(r.Config, u), r.interruption()
	var err error
	if n == nil {
		if err = os.Remove(path); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	} else {
		err = writeInterruption(path, interruptionFile{n.Deadline, n.Detail})
	}
	if err != nil {
		r.Logger.Error("could not write the interruption file for jobs", "error", err)
	}
}

// writeInterruption writes the file for everybody to read.
func writeInterruption(path string, content interruptionFile) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o711); err != nil {
		return err
	}
	text, err := json.MarshalIndent(content, "", "  ")
	if err != nil {
		return err
	}
	return replacefile.Write(path, append(text, '\n'), 0o644)
}

// wireNotices is what the beat says of the notices: times as durations, since the
// host's clock may be wrong.
func (r *runner) wireNotices() []agentapi.Notice {
	var out []agentapi.Notice
	for _, n := range r.notices {
		w := agentapi.Notice{ID: n.ID, Kind: n.Kind, Detail: n.Detail}
		if !n.Deadline.IsZero() {
			left := n.Deadline.Sub(r.Now()).Seconds()
			w.DeadlineSeconds = &left
		}
		out = append(out, w)
	}
	return out
}
