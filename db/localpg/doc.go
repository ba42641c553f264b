// Package localpg owns the private PostgreSQL of one data directory: it makes
// the cluster from the binaries that are installed, starts the server, adopts
// one that is already running, and stops it.
//
// A folder holds everything:
//
//	data/         the cluster; its owner is the account that the server runs as
//	sock/         the unix socket; there is no TCP port
//	lock          flock of the one process that manages the folder
//	postgres.log  what the server says (postgres.log.1: what it said before)
//	init-*/       a cluster in the making, renamed to data/ when it is whole
//
// Nothing in data/ is ever deleted or overwritten by this package. A cluster
// of another major version is refused, not replaced.
//
// The server belongs to the folder, not to the process that started it: it has
// its own session and survives a SIGKILL of its starter, and the next Start
// adopts it. After kill -9 of the server itself, Start (or Ensure) ends the
// backends that it left behind, disarms its lock files and lets PostgreSQL
// recover. A crash in the middle of the first start leaves an init-* folder
// that the next start sweeps.
//
// PostgreSQL refuses to run as root. Started by root, the server runs as the
// owner of an existing cluster; a new one belongs to the account "postgres",
// else to "nobody".
//
// A Cluster's methods may be called by any goroutine.
package localpg
