// Package api is the daemon's HTTP API: it owns the routes, the guard in front of them, the feed of server-sent events,
// and the Go client that the commands and the tests use.
//
// # Trust
//
// There are three ways in, each with an http.Server of its own. A client of the main unix socket may do everything; the
// mode of the socket's file is its guard. A client of TCP may do the same with the bearer token. TCP is a public door even
// on loopback, so the server refuses a foreign Host, a foreign Origin and a missing token before it routes a request. The
// hook socket is for agents. It routes only hooks and, with the secret of an active agent's launch, that agent's own
// handoff, messages, context and peers.
//
// # Concurrency
//
// A [Server] is safe for concurrent use. A handler decodes, makes one call to the domain and answers; it keeps nothing.
// Each reader of the feed has one goroutine, bounded buffers and a deadline for every write. The server drops a reader
// that does not read, without slowing others down. That reader comes back with the id that it saw last.
//
// # What a crash leaves
//
// A crash leaves the socket files, which the next [ListenUnix] removes because nobody serves them. A reader gets the
// events that it has missed from the event log.
package api
