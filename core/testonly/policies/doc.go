// Package policies compares the planner with other kinds of scaling policies on
// the same jobs: each is written down here in a few lines, as a function that
// stands in for planner.Plan in a replay.
//
// They are kinds of policies as they are found in the field, reimplemented, and no
// one product's. The jobs are generated from a seed. What comes out is the tables
// of docs/policies.md; the package is part of no binary.
package policies
