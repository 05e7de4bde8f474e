// Package plans says what applying files would do, and does it: the difference of a
// submission and what is stored, plan files, the approval that an apply is held to,
// and why a plan is stale.
//
// It never calls a provider: what it stores is the loop's to reach.
package plans
