//go:build !linux && !darwin

package store

// networkFileSystem can't tell on this system; the user's word is taken.
func networkFileSystem(string) (string, error) { return "", nil }
