// Package failpoint names the points at which the crash tests end this plugin. It
// is the counterpart of core/failpoint, which a plugin can't import: empty and
// inlined in every build without the tag failpoint.
//
// The manager passes a plugin nothing of its environment that the fleet file
// doesn't name, so a test names the variables in required_plugins { env }.
package failpoint
