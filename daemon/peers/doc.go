// Package peers is the room in which agents find and write to each other: who plays which persona beside an agent, and texts that one agent sends to
// another.
//
// It writes no column of its own: a text is a delivery, which the floor of deliveries brings. It has no duty and no lane. What a crash leaves:
// nothing.
package peers
