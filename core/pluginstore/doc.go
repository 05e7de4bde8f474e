// Package pluginstore keeps provider plugins on this machine: the lock file
// that names what a project uses (fleet.lock.hcl), and a content-addressed
// store that all projects share.
//
// A plugin is found by the digest in the committed lock and by nothing else:
// there is no discovery and no search path. The package never starts a plugin;
// what describes a new binary is handed in. Data comes from a directory of
// built plugins (InstallFromDir) and goes to pluginhost (Binary) and config
// (Info).
package pluginstore
