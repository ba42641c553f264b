// Package claudetest lets a test run the real Claude Code CLI against a model that the test
// plays itself.
//
// It owns three things: the pinned CLI, installed once per machine from npm ([Install]); a fake
// of the Messages API on loopback, which answers by a script and records what it was asked
// ([FakeAPI]); and a private home in which the CLI starts without a dialog and speaks to nobody
// but that fake ([Env]). What the model would do is therefore decided by the test; everything
// else (hooks, composer, dialogs, transcript, registry, exit) is the CLI's own doing.
//
// All types may be used from several goroutines. A test that crashes leaves a temporary
// directory behind and, in the cache, at most an unfinished installation that nobody looks at.
package claudetest
