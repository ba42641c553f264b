// Package stories tests understudy as people and agents see it: the whole daemon with its API, real tmux, PostgreSQL, CLIs and a
// real browser. The files rig_* hold the rig, and the others its stories. Most stand behind the tag e2e. A rule of one room, or of
// the order in which things happen, is told beside its room or in package sim.
package stories
