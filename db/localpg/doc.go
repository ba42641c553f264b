// Package localpg owns the private PostgreSQL of one data directory: it makes
// the cluster with the installed binaries, starts the server, adopts one that
// already runs, and stops it.
//
// A folder holds everything:
//
//	data/         the cluster; the server runs as its owner
//	sock/         the unix socket; there is no TCP port
//	lock          flock of the one process that manages the folder
//	postgres.log  the server's log (postgres.log.1: the older part)
//	init-*/       an unfinished cluster; build renames it to data/
//
// This package never deletes or overwrites anything in data/. It refuses a
// cluster of another major version and does not replace it.
//
// Any goroutine may call a Cluster's methods.
//
// The server belongs to the folder, not to the process that started it. It has
// its own session, so it survives a SIGKILL of that process, and the next Start
// adopts it. If the server itself was killed with SIGKILL, Start (or Ensure)
// ends the backends that the server left, disarms its lock files and lets
// PostgreSQL recover. A crash in the middle of the first start leaves an init-*
// folder, which the next start removes.
//
// PostgreSQL refuses to run as root. If root starts the server, the server runs
// as the owner of the cluster. If root makes a new cluster, or finds one of an
// account that other programs have, its owner is an id that no account has. The
// server lets in that owner and root alone, and asks the kernel who they are.
package localpg
