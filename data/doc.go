// Package data owns the data directory: the name of every path in it, the way files are
// written there, what a handoff hands over (the document, what is read off it, the context file)
// and the personas, pipeline templates and requirements that are shipped.
//
// A document goes through it like this: [ReadDocument] checks it, [ByHeading] takes the fields out
// of it, [ParseDecisions] and [Claims] read those, [Requirements] say what should be in it, and
// [Context.Render] puts it all into the context file. Agents write freely: nothing but
// ReadDocument refuses a document, the rest finds what is there. All of that is pure, and linear
// in the length of the text.
//
// Concurrency: everything may be called from several goroutines and processes at once, but
// for [Dir.Seed], which belongs to the daemon that holds [Dir.Lock].
//
// A crash leaves each file as it was or as it was to be, never half of one. What may stay
// behind are hidden files and folders (".NAME.*.tmp", ".seed-SLUG") that nobody reads; the
// latter are cleared by the next Seed.
package data
