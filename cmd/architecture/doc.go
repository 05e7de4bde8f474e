// Package architecture holds no code: its tests guard the rules that keep the
// repository the shape that docs/architecture.md draws, by what the go command
// says of every package and its dependencies.
//
// They are for what a compiler lets pass and a reviewer forgets: an import from
// a higher floor, a cloud's SDK in the manager, a module that builds only inside
// the workspace. They are not for behaviour, and not for style that gofmt, vet
// or staticcheck see.
//
//go:generate go test . -run TestImportGraphOfThePage -update
package architecture
