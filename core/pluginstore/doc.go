// Package pluginstore installs and publishes provider plugins: the lock file
// that names what a project uses (fleet.lock.hcl), a content-addressed store
// that all projects of a user share, and the OCI repositories and layouts that
// releases come from and go to.
//
// A plugin is found by the digest in the committed lock and by nothing else:
// there is no discovery and no search path, and a tag counts once, when a
// version is chosen. A release counts only with a signature by a key that the
// user has agreed to, unless the fleet files say otherwise. The package never
// starts a plugin: it reads descriptions that were published. Data comes from
// registries and layouts (Installer) or an author's own folder (InstallBuild)
// and goes to pluginhost (Binary) and config (Info).
package pluginstore
