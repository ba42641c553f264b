// Package api is the daemon's outside: it owns the HTTP routes, the guard in front of them, the
// feed of server-sent events, and the Go client that the commands and the tests use.
//
// # Trust
//
// There are three ways in, each with an http.Server of its own. The main unix socket may do
// everything; its file mode is its guard. TCP may do the same, with the bearer token, and is a
// public door even on loopback: a foreign Host, a foreign Origin and a missing token are refused
// before anything is routed. The hook socket is what agents are given: hooks, and, with the
// secret of a live launch, that agent's own handoff and messages; nothing else is routed there.
//
// # Concurrency
//
// A [Server] is safe for concurrent use. A handler decodes, makes one call to the domain and
// answers; it keeps nothing. Each reader of the feed has one goroutine of ours, bounded buffers
// and a deadline on every write, so that one that does not read is dropped and comes back with
// the id it saw last; nobody else notices.
//
// # What a crash leaves
//
// Nothing but the socket files, which the next [ListenUnix] finds unserved and removes. The feed
// is replayed from the log.
package api
