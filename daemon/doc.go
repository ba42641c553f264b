// Package daemon holds the rows of the domain and their rules: agents, the texts that are typed to them, handoffs of work from one agent to the
// next, pipelines, permissions, work trees, usage. It says which states a row may be in, what leads from one to another, what a [Change]
// writes together, and what a [Store] promises.
//
// It is pure: it has no clock, opens no file, starts nothing and waits for nothing. Package engine makes the rows move, and the rooms beside it
// do what each is named for. See docs/architecture.md.
package daemon
