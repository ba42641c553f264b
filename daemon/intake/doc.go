// Package intake is the floor that takes hooks: who has sent them, whether they are believed, and what follows for the rows, in one transaction
// each; and the spool of those that came while nobody listened. Whoever decides there has values alone: see [engine.Facts].
//
// On top of all floors, it makes the daemon, and what rooms get of it ([Env]).
package intake
