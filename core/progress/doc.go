// Package progress tells people who watch what each step of the loop led to, and
// says when nothing of an apply is on its way any more.
//
// A Hub passes on what the loop gives it and never holds the loop up.
package progress
