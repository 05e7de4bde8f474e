// Package pluginstore installs and publishes provider plugins. It has the lock file
// of a project (fleet.lock.hcl), a content-addressed store that all projects of a user
// share, and access to the OCI registries and layouts of releases.
//
// A plugin is found only by the digest in the lock file; there is no search path. A tag
// is resolved once, when a version is chosen. A release needs a signature by a key that
// the user trusts, unless the fleet files say otherwise.
//
// It never starts a plugin: it reads published descriptions. Data comes from registries
// and layouts (Installer) or from a local build (InstallBuild), and goes to pluginhost
// (Binary) and config (Info).
package pluginstore
