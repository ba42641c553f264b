// Package marks is the room of what an operator notes: that they have seen what an agent has finished or that it died, whether they are told of
// the next time, and new names of agents and personas.
//
// It writes an agent's name, unread, notify_finished and dismissed_at, and has no duty and no lane: each call is one commit. What a crash leaves:
// the folder of a persona that was renamed without its event.
package marks
