// Package keys keeps the installation's own keys: the kinds that there are, which
// of them the store counts on, their files, their rotation, and when nothing needs
// an old one any more.
//
// It hands them to the packages that sign, enroll and prove, and never shows a secret.
package keys
