// Package postgrestest gives tests a real PostgreSQL: a private cluster of the
// installed server in a temporary folder, reachable by a unix socket in it and
// nothing else.
//
// It is for tests of SQL, not of durability: the cluster syncs nothing. Where no
// server is installed, tests are skipped by hand and fail under CI=true.
package postgrestest
