// Package realcli lets a test run the real Codex, OpenCode, oh-my-pi and Gemini CLIs against a scripted model, as
// claudetest does for Claude Code.
//
// It owns three things: the pinned CLIs, each installed once per machine from npm ([Install]); their APIs on a fake of
// claudetest ([NewFakeAPI]), so that one script and one record serve all five CLIs, in the words of Claude Code's API; and
// for each CLI a private home in which it starts without a dialog and talks to no server but that fake ([Env]).
//
// Several goroutines may use everything here. A test that crashes leaves nothing if its TestMain uses a warden.
package realcli
