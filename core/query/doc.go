// Package query answers what people ask of an installation: fleets, instances with
// their past, images, reservations, decisions and events, each limited to what the
// caller may see.
//
// It joins what is stored with what a running manager sees, changes nothing and
// renders nothing.
package query
