// Package replacefile replaces a file atomically: a reader, or the next start after a
// crash, finds the old content or the new content, never a part.
//
// The content is written to a temporary file, synced and renamed, and the directory is
// synced, too, so that content that was reported as written survives a power failure. It
// imports the standard library only, since the agent uses it.
package replacefile
