// Package reviewosfile is the file of a ReviewOS instance's pools and queues: it reads one,
// and says what an instance has to do to be what the file says.
package reviewosfile
