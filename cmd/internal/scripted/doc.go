// Package scripted is the scripted agent. Towards a terminal, its hooks and its files, this program behaves as Claude
// Code 2.1.329 does, with a built-in brain in the place of the model. `understudy demo` runs it in panes. Tests run it
// with a [Script] (package scriptedtest), which follows directives in prompts and misbehaves.
//
// It owns one terminal (raw mode, bracketed paste), one registry file ($CLAUDE_CONFIG_DIR/sessions/<pid>.json) and the
// transcripts of its sessions ($CLAUDE_CONFIG_DIR/projects/<cwd>/<session>.jsonl). CLAUDE_CONFIG_DIR defaults to
// ~/.claude or, when HOME is empty, to .claude below TMPDIR. Hooks come from --settings, from settings.json in that
// directory and from .claude/settings.json in the working directory; the agent runs only command hooks. Of the
// statusLine settings in these files, the last one counts. sh runs its command at start and after each turn, with a
// limit of 2 s.
//
// With -p the agent answers one prompt, given as an argument or on standard input, as text, json or stream-json, and
// writes none of these files. With --resume and --fork-session it remembers the session's prompts, name and model. If a
// prompt asks for a handoff, the answer is the document's text.
//
// With --report it answers the prompts of a pipeline's step under the four usual headings, as the step's system prompt
// demands.
//
// The agent submits a prompt on the command line after SessionStart, byte for byte. If the prompt is a command, the
// agent runs the command without UserPromptSubmit. Blanks and characters that a terminal does not show may stand before
// the command.
//
// If a prompt begins with /handoff, the UserPromptSubmit hooks get it as it was typed, when its turn begins. If a hook
// blocks it, the turn ends.
//
// A handoff document has the four usual headings, and the headings that the instruction names as "## X" within a line.
// The files that the instruction tells the agent to read first belong to the instruction.
//
// # Concurrency
//
// The loop (loop.go) owns the keyboard and the composer. One worker runs the session's jobs in order: start and turns. The screen, the registry and the transcript each have a lock of their own. A crash leaves
// the registry file, as it does when Claude Code is killed.
//
// An agent reaches its working directory, environment, signals, terminal and other programs through [Process]. [Main]
// makes a Process of the operating system; tests can run agents as goroutines in a synctest bubble. If an agent is
// killed, [Run] waits for all goroutines of the agent, except for the one that reads a real terminal. Nobody can cancel
// that read, and it ends with the program.
//
// # Differences from Claude Code
//
// Tests compare the agent's hooks, with their order and their fields, with a recording of Claude Code's hooks.
// scriptedtest/recorded_test.go lists the differences. The other differences:
//
//   - Terminal: text typed right after the start is never lost. Text sent while a tool runs waits for the next turn. A
//     prompt on the command line keeps its control characters and the characters that are not shown. The cursor stays
//     at the end of the composer.
//   - Commands: /help, /clear, /compact and /resume are no commands, and `!command` runs nothing. /handoff needs no command file; if no hook blocks it,
//     it goes on as an ordinary prompt, without UserPromptExpansion.
//   - Files: the registry names no pane. There are no warnings about settings. Reading a file never asks for permission.
//   - Hooks: there are no http hooks, no async hooks and no idle_prompt notification. There is no network.
//   - Status line: the agent ignores further keys of statusLine (padding, refreshInterval), and runs no status line
//     while a tool runs.
//   - Print mode: the agent saves no session even without --no-session-persistence. Only hooks can refuse a tool. SIGINT
//     kills the agent, where Claude Code prints a result.
package scripted
