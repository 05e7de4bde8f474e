// Package docs holds the tests that keep README.md and docs/ true: pages
// and parts of pages that are made from the code, HCL that loads, Go that is
// taken from an example, links that lead somewhere.
//
// It has no code of its own. After a change of what a page is made from, write
// the pages again:
//
//go:generate go test . -run TestWhatIsMadeFromTheCode -update
package docs
