// Package terminal is the person at the other end of a command: questions, signals,
// lines that change in place, and text without what steers a terminal.
package terminal
