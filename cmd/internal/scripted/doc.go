// Package scripted is the scripted agent: a program that behaves towards a terminal, its hooks
// and its files as Claude Code 2.1.329 does, with a built-in brain in the place of the model.
// Tests that do not need the real CLI and `understudy demo` run it in panes.
//
// It owns one terminal (raw mode, bracketed paste), one registry file
// ($CLAUDE_CONFIG_DIR/sessions/<pid>.json) and the transcripts of its sessions
// ($CLAUDE_CONFIG_DIR/projects/<cwd>/<session>.jsonl). CLAUDE_CONFIG_DIR defaults to ~/.claude, and
// to .claude below TMPDIR when HOME is empty. Hooks come from --settings, from settings.json in that
// directory and from .claude/settings.json in the working directory; only command hooks are run. The
// last statusLine among them is run by sh at start and after each turn, with a limit of 2 s.
//
// With -p it answers one prompt, given as an argument or on standard input, as text, json or stream-json,
// and writes none of these files. With --resume and --fork-session it remembers the session's prompts,
// name and model. A prompt that asks for a handoff is answered with the document's text; of the directives
// @say and @decide count.
//
// A prompt on the command line is submitted after SessionStart, byte for byte. What is a command, also
// behind blanks and characters that are not shown, is run as one, without UserPromptSubmit.
//
// A prompt that begins with /handoff reaches the UserPromptSubmit hooks as it was typed, when its turn
// comes. If they block it, there is no turn.
//
// A handoff document has the four usual headings and those that the instruction names beside them, as
// "## X" within a line; the files that it is told to read first are part of it.
//
// # Concurrency
//
// The loop (loop.go) owns the keyboard and the composer. One worker runs the session's jobs in order:
// start, turns, /clear, /compact, /resume. Screen, registry and transcript have a lock of their own.
// A crash leaves the registry file, as a killed Claude Code does.
//
// What is one for a whole process (working directory, environment, signals, terminal, other programs) comes by
// [Process]. [Main] takes the operating system's; a test can run agents as goroutines, in a synctest bubble. [Run]
// waits for all goroutines of an agent that is killed. The one that reads a real terminal ends with the program:
// such a read cannot be cancelled.
//
// # Where it differs from Claude Code
//
// Its hooks are held against a recording of Claude Code's, with their order and their fields; what differs
// there is listed in scriptedtest/recorded_test.go. Besides:
//
// Text typed right after the start is never lost, text sent while a tool runs waits for the next turn,
// a prompt on the command line keeps its control characters and those that are not shown, /help is no
// command, the cursor stays at the end of the composer, `!command` runs nothing, there are no http hooks, no
// idle_prompt notification and no network. Reading a file never asks for permission. /handoff needs no
// command file; what no hook blocks goes on as an ordinary prompt, without UserPromptExpansion. Further
// keys of statusLine (padding, refreshInterval) mean nothing, and it does not run while a tool does. -p
// saves no session even without --no-session-persistence, and asks for no permission but that of hooks;
// SIGINT kills it, where Claude Code prints a result.
package scripted
