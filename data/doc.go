// Package data owns the data directory: the path of every file in it, how files are written there, and how a
// handoff document is read and a context file made. It also holds the personas, pipeline templates and requirements
// that we ship.
//
// [ReadDocument] checks a document, [Extract] extracts its fields, [ParseDecisions] and [Claims] read those,
// [Requirements] name what should be in it, and [Context.Render] makes the context file of all that. Agents write
// freely, so only ReadDocument refuses a document; the other functions take what they find. They are pure, and
// their time is linear in the length of the text.
//
// Concurrency: several goroutines and processes may call everything at once, except [Dir.Seed]. Only the daemon that
// holds [Dir.Lock] may call that.
//
// A crash leaves each file either old or new, never half written. It may leave hidden files and folders
// (".NAME.*.tmp", ".seed-SLUG") that nobody reads. The next Seed removes the ".seed-SLUG" ones.
package data
