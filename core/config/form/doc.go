// Package form is what a text of a fleet file must look like: names, versions, URLs,
// schedules and others, each with what to write instead.
package form
