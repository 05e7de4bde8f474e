// Package process starts a plugin's process and answers for its end: it verifies the
// executable, makes the private directory of the launch, limits the environment, owns the
// standard streams and the process group, and sweeps what a dead manager has left.
//
// It knows nothing of calls: what is said over the plugin's socket is the host's.
package process
