// Package claudetest lets a test run the real Claude Code CLI against a scripted model.
//
// It owns three things: the pinned CLI, installed once per machine from npm ([Install]); a fake of the Messages API on
// loopback, which answers by a script and records its requests ([FakeAPI]); and a private home in which the CLI starts
// without a dialog and talks to no server but that fake ([Env]). So the test decides what the model does, and the CLI
// does everything else: hooks, composer, dialogs, transcript, registry, exit.
//
// Several goroutines may use all types. A test that crashes leaves a temporary directory and, in the cache, at most an
// unfinished installation that nobody uses.
package claudetest
