// Package intake is the floor that takes hooks: who has sent them, whether they are believed, and what follows for the rows, in one transaction
// each; and the spool of those that came while nobody listened. Whoever decides there has values alone: see [engine.Facts].
//
// It writes to the rows of agents, deliveries, handoffs and permissions what a hook tells of them, and hooks themselves. It is on top of all floors
// and makes the daemon: it has the lanes of agents, of the sweep and of the spool, and the duties handOver, deliverNext and forgetEnded. What a
// crash leaves: hooks in the spool, which the next daemon applies once, in order.
package intake
