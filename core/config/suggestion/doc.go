// Package suggestion is what a message says to someone who misspelt a name: the near
// one, or those that are valid.
package suggestion
