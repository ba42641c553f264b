// Package stories tests understudy as people and agents see it: the whole daemon with its API and scripted agents. Files
// rig_* are the rig; the others are its stories. Most of them run in memory, in a bubble of time
// (docs/adr/0027); those behind the tag e2e run real processes, the real CLI and a real browser.
package stories
