// Package argument is what a person typed: flags with bounds, the fleet that a word names,
// and refusals of a manager in the words of the command line instead of those of its routes.
package argument
