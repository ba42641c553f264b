// Package actor is the mind of a scripted agent without its process: how the agent understands prompts, the text of
// its handoff document, its composer, its screen, and the payloads of its hooks. It never misbehaves. The scripted agent
// of the demo and of the tests uses it in a process of its own, the simulation in memory. The package starts no
// goroutines; one goroutine at a time uses a value.
package actor
