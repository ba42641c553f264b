// Package data owns the data directory: the path of every file in it, how files are written there, and how a
// handoff document is read and a context file made. It also holds the personas, pipeline templates and requirements
// that we ship.
//
// [ReadDocument] reads and checks a document. [Extract] extracts its fields, and [ParseDecisions] and [Claims] read
// these fields. [Requirements] name the topics that the document should cover. [Context.Render] makes the context
// file. Agents write freely, so only ReadDocument refuses a document; the other functions use the parts that they
// find. Extract, ParseDecisions, Claims and Render are pure, and their time is linear in the length of the text.
//
// Concurrency: several goroutines and processes may call everything at once, except [Dir.Seed]. Only the daemon that
// holds [Dir.Lock] may call that.
//
// After a crash each file is either old or new, never half written. A crash may leave hidden files and folders
// (".NAME.*.tmp", ".seed-SLUG") that no program reads. The next Seed removes the ".seed-SLUG" folders.
package data
