// Package data owns the data directory: the name of every path in it, the way files are
// written there, the handoff document (check, read, wrap) and the personas that are shipped.
//
// Concurrency: everything may be called from several goroutines and processes at once, but
// for [Dir.Seed], which belongs to the daemon that holds [Dir.Lock].
//
// A crash leaves each file as it was or as it was to be, never half of one. What may stay
// behind are hidden files and folders (".NAME.*.tmp", ".seed-SLUG") that nobody reads; the
// latter are cleared by the next Seed.
package data
