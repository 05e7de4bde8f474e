// Package reason has every reason that the program gives for what it decides, does
// and shows: one small comparable type each, with its parameters as typed fields, and
// a text in plain English.
//
// Code that decides makes a value of such a type and nothing else. Code that has to tell
// one reason from another compares types and fields. Only this package makes texts,
// and only where somebody reads them: so a reason that is thrown away costs nothing.
//
// A text is a phrase without a capital letter at its beginning and without a full
// stop at its end, so that it can stand alone, after a subject and a colon, or within
// the text of another reason. It never contains a command line: those are Commands.
//
// A new reason is a type with json tags and a doc comment, which says when it is
// given, and an example in the list of its file. docs/reasons.md is made from them.
package reason
