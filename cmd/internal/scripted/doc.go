// Package scripted is the scripted agent: a program that behaves towards a terminal, its hooks
// and its files as Claude Code 2.1.329 does, with a built-in brain in the place of the model.
// `understudy demo` runs it in panes. Tests run it with a [Script] (package scriptedtest), which follows directives in
// prompts and misbehaves.
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
// name and model. It answers a prompt that asks for a handoff with the document's text.
//
// With --report it answers the prompts of a pipeline's step with the four usual headings, as the step's system prompt
// wants it.
//
// A prompt on the command line is submitted after SessionStart, byte for byte. If it is a command, also one behind
// blanks and characters that a terminal does not show, the agent runs the command without UserPromptSubmit.
//
// A prompt that begins with /handoff reaches the UserPromptSubmit hooks as it was typed, when its turn
// begins. If a hook blocks it, the turn ends.
//
// A handoff document has the four usual headings and those that the instruction names as "## X" within a line. The
// files that the instruction tells the agent to read first belong to the instruction.
//
// # Concurrency
//
// The loop (loop.go) owns the keyboard and the composer. One worker runs the session's jobs in order:
// start, turns, /clear, /compact, /resume. Screen, registry and transcript have a lock of their own.
// A crash leaves the registry file, as a killed Claude Code does.
//
// An agent reaches its working directory, environment, signals, terminal and other programs through [Process]. [Main]
// makes a Process of the operating system's; tests can run agents as goroutines in a synctest bubble. [Run] waits for
// all goroutines of an agent that is killed, except for the one that reads a real terminal: nobody can cancel that
// read, and it ends with the program.
//
// # Where it differs from Claude Code
//
// Tests compare its hooks, with their order and their fields, with a recording of Claude Code's hooks.
// scriptedtest/recorded_test.go lists the differences. The other differences:
//
// Text typed right after the start is never lost, text sent while a tool runs waits for the next turn, a prompt on the
// command line keeps its control characters and those that are not shown, /help is no command, the registry names no
// pane, the cursor stays at the end of the composer, `!command` runs nothing, there are no http hooks and no async
// ones, no warnings about settings, no idle_prompt notification and no network. Reading a file never asks for
// permission. /handoff needs no command file; if no hook blocks it, it goes on as an ordinary prompt, without
// UserPromptExpansion. The agent ignores further keys of statusLine (padding, refreshInterval), and runs no status
// line while a tool runs. With -p it saves no session even without --no-session-persistence, only hooks can refuse a
// tool, and SIGINT kills it, where Claude Code prints a result.
package scripted
