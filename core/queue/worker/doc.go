// Package worker takes jobs from a forgeyard-queue for one runner and runs them:
// each in a process group and a folder of its own, with a clean environment. It
// renews each job's lease, shows the end of its output and delivers its result,
// however often answers are lost. It never runs a job of which it isn't sure that
// it is its own, and decides nothing about jobs. It is linked into the agent's
// binary, and uses only the standard library.
package worker
