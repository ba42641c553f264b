// Package stories tests understudy as people and agents see it: the whole daemon, its API and scripted agents. The
// files rig_* hold the rig, and the others its stories. Most stories run in memory, in a bubble of time
// (docs/adr/0027). Those behind the tag e2e run real processes, the real CLI and a real browser.
package stories
