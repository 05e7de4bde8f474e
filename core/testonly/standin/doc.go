// Package standin is a small server that follows ReviewOS's page "Autoscaling
// runners", and its runner, for tests: part of no binary. It is strict where that
// page says something: whatever else is sent is refused. How a runner asks for work
// isn't on the page, and is the stand-in's own.
//
// All tests over HTTP use it, except those of answers that ReviewOS never gives, which write
// them out. Two other models of ReviewOS take the effects of the loop instead of requests, and
// stay apart from it: one in the tests of core/loop, where each test sets what it shows, and
// the one of testonly/simulation, which holds the truth for the invariants.
package standin
