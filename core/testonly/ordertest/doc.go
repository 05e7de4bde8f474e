// Package ordertest gives orders by the type of their request, so that a test can have
// them in a table.
package ordertest
