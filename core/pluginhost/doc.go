// Package pluginhost runs provider plugins: it launches a plugin's process,
// supervises it, calls it and turns its answers into the types of package fleet.
//
// Paths, digests and decoded blocks come in from pluginstore and config; what a
// provider has and did goes out to the executor. It is the only package of the
// core that knows go-plugin and providerpb. It never knows a provider by name,
// and it decides no policy: deadlines are the caller's contexts, and what to do
// about an error class or an unknown outcome is the loop's business.
//
// The rule for every answer: unknown is the default. A missing answer, a broken
// connection, a deadline, a crash and an unset field all leave the outcome
// unknown; that something was not created is a claim that only a plugin makes.
package pluginhost
