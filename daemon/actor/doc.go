// Package actor has the behaviour of a scripted agent without its process: how the agent understands prompts, the text
// of its handoff document, its composer, its screen, and the payloads of its hooks. An actor always behaves well. The
// scripted agent of the demo and of the tests uses the package in a process of its own; the simulation uses it in
// memory. The package starts no goroutines. Its values are not safe for concurrent use.
package actor
