// Package quantity is the amounts that fleet files write with a unit: durations, sizes and
// numbers of processors, read and written.
package quantity
