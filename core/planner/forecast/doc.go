// Package forecast says how many runners a fleet will need soon, from how many it
// needed before (spec §117, §250).
//
// It is advice: the caller may do without, and nothing is ever right or wrong
// because of it (spec §120, §252). It reads no clock and no store. What was needed comes
// from the loop, in buckets of five minutes; a bucket in which no one looked is
// unknown, which is not zero. What it says goes to the planner with its confidence
// (spec §121), which comes from how well the model would have done in the last days.
package forecast
