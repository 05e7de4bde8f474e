package bootstrap

// syncDirectory does nothing: Windows has no call for it, and its rename is
// journalled by the file system.
func syncDirectory(string) error { return nil }
