// Package replacefile gives a file new content whole or not at all: a reader, or the
// next start after a crash, finds the old content or the new one and never a part.
//
// The content is written under a temporary name, synced, renamed, and the rename is
// synced too, so that what was returned as written survives a power cut. It imports the
// standard library only, since the agent uses it.
package replacefile
