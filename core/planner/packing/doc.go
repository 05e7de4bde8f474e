// Package packing finds cheap machines for many jobs of several resources: vector
// packing with machines of different types and prices.
//
// Pack is a pure function: the same Problem and number of steps give the same
// bytes on every machine. It knows nothing of fleets or jobs, only of
// requirements and capacities; its work grows with the classes of jobs and the
// types of machines, not with the number of jobs.
//
// Coverage is decided first and cost second. Who gets a place is found by serving
// one class after the other, so that whatever comes after a job never takes its
// place away. Only then is what is covered packed as cheaply as can be found.
package packing
