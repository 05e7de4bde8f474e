// Package standin is a small server that follows ReviewOS's page "Autoscaling
// runners", and its runner, for tests: part of no binary. It is strict where that
// page says something: whatever else is sent is refused. How a runner asks for work
// isn't on the page, and is the stand-in's own.
package standin
