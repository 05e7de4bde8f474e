// Package logbuffer is a log that a test reads while several goroutines write it.
package logbuffer
