// Package schedule says when the windows of a schedule are open: each begins by
// a cron expression on the clock of a time zone and lasts a real time.
//
// It reads no clock: the time comes in. Cron expressions are the library's to
// read; what happens where a clock is put forward or back is decided here, since
// a begin that is lost or comes twice is a morning without runners. Schedules
// come from the fleet file, and the planner asks.
package schedule
