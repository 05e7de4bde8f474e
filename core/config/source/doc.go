// Package source is the text of fleet files: read from a directory, parsed within limits
// that keep a hostile or misplaced file from taking the process down, and formatted. It
// knows HCL's syntax and no block.
package source
