// Package worktrees is the room of work trees: they are made, merged into a branch, removed and restored, and shown.
//
// It writes the rows of work trees once they are planned; the floor of agents plans one with the agent that is started in it. It has a lane for
// each work tree in which something is to be done. What a crash leaves: an act of git that may have had its effect; the next try finds that out.
package worktrees
