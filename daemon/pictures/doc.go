// Package pictures is the room of the pictures of time: what the agents of a line did, how full their context windows were, and how long a
// handoff took beside others. It reads, writes no column, has no duty, and leaves nothing at a crash.
package pictures
