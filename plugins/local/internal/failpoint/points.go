package failpoint

// point is a place in the plugin. Nothing outside of this file can make one, so
// a point that isn't listed here doesn't compile.
type point string

// The points, with where they lie and what a crash there leaves behind.
const (
	// At the first start, before the root gets its mark: a mark under a temporary name.
	RootUnmarked point = "local-root-unmarked"
	// After that: a root that the plugin's cache doesn't remember.
	RootMarked point = "local-root-marked"
	// In Provision, before anything is made: only the answer is lost.
	ProvisionBegun point = "local-provision-begun"
	// In Provision, before a directory gets its name: it isn't an instance yet.
	DirectoryUnnamed point = "local-directory-unnamed"
	// In Provision, after that: an instance whose agent was never started.
	DirectoryNamed point = "local-directory-named"
	// In Provision, when the agent was started: a process that isn't recorded.
	AgentUnrecorded point = "local-agent-unrecorded"
	// In Provision, when it was recorded: the answer is lost.
	AgentRecorded point = "local-agent-recorded"
	// In Terminate, before anything is done: only the answer is lost.
	TerminateBegun point = "local-terminate-begun"
	// In Terminate, when the directory is marked: its agent may run.
	RemovalMarked point = "local-removal-marked"
	// In Terminate, when the agent and its jobs have ended: the directory is there.
	AgentStopped point = "local-agent-stopped"
	// In Terminate, when the directory has another name: it isn't an instance any more, and not deleted yet.
	DirectoryRenamed point = "local-directory-renamed"
	// In Terminate, when all is deleted: the answer is lost.
	DirectoryErased point = "local-directory-erased"
)
