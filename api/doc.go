// Package api is the daemon's HTTP API: it owns the routes, the guard in front of them, the feed of server-sent events,
// and the Go client that the commands and the tests use.
//
// # Trust
//
// The server listens in three places, each with an http.Server of its own. A client of the main unix socket may do
// everything; the mode of the socket's file keeps other users out. A client of TCP may do the same if it sends the bearer
// token. TCP is a public door even on loopback, so the server refuses a foreign Host, a foreign Origin and a missing token
// before it routes a request. The hook socket is for agents. It routes only hooks and requests with the secret of an
// active agent's launch, which may use that agent's own handoff, messages, context and peers.
//
// # Concurrency
//
// A [Server] is safe for concurrent use. A handler decodes, makes one call to the domain and answers; it keeps nothing.
// Each reader of the feed has one goroutine, bounded buffers and a deadline for every write. If a reader does not read,
// the server drops it, and other readers do not wait for it. The dropped reader can connect again with the id of the last
// event that it saw.
//
// # What a crash leaves
//
// A crash leaves the socket files. No process serves them any more, so the next [ListenUnix] removes them. A reader that
// connects again gets the events that it has missed from the event log.
package api
