// Package actor is the mind of a scripted agent without its process: how it reads prompts, what it writes into
// a handoff document, its composer, its screen, and the payloads of its hooks. The scripted agent of the demo
// and of the tests runs it in a process of its own, the simulation in memory. Nothing in it runs by itself; a
// value is used by one goroutine at a time.
package actor
