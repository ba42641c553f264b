// Package pictures is the room of the pictures of time: what agents did, how full their context windows were, how a pipeline ran, and how long
// a handoff took beside others. It reads, writes no column, has no duty, and leaves nothing at a crash.
package pictures
