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
// # Directives
//
// Words in a prompt (or in the reason of a blocked Stop) steer the turn:
//
//	@busy DUR          the turn takes DUR longer
//	@hold FILE         the turn goes on until FILE exists
//	@background        starts a background task by a call of Bash, listed by each Stop until the FILE of
//	                   @hold exists (@hold does not delay the turn then); its end brings a
//	                   <task-notification> turn. Between turns the registry says "shell" meanwhile
//	@compact           before the answer the context is compacted, as when it is full: PreCompact(auto),
//	                   unless blocked SubagentStop, SessionStart(compact), PostCompact and 30,000 tokens
//	@tokens N          from now on each answer has a context of N tokens, in the transcript and for the
//	                   status line (until the next @tokens, compaction or /clear)
//	@edit FILE         adds a line to FILE, or makes it, by a call of Edit; a path is taken from the
//	                   working directory. The document names FILE as modified
//	@decide TEXT       documents from now on have TEXT among their decisions, to the end of the line or
//	                   the next directive
//	@ask               a tool call that needs permission: PermissionRequest, then a dialog
//	@say TEXT          the answer is TEXT, to the end of the prompt or to "## Original request"
//	@raw FILE          the answer is exactly what FILE holds; a path is taken from the working directory
//	@report            the answer has the four headings, with a paragraph each, and names the original
//	                   request or the prompt's first line, the step before and the approval note
//	@step NAME …       alone on its line: the directives after it, @say to the end of the line, are for
//	                   the agents whose --name begins with NAME, and for that of step NAME of a pipeline
//	                   if it is a number (the system prompt says "You are step N of"). They come last
//
// In the prompts of a pipeline those of the step's own prompt and those of the original request count, the
// latter in each step. Those of the step before do not count, in the paragraphs that begin with a label of
// the header and between “ and ”, as the agent's own answers quote.
//
// # Misbehaviours
//
// A comma-separated list from the flag --behave, the variable SCRIPTED_AGENT and the file named by
// SCRIPTED_AGENT_FILE, taken together. The file is read anew at each turn and at each exit. A duration
// is Go's (300ms) or a bare number of milliseconds; DUR in brackets may be left out. NAME:MISBEHAVIOUR is
// for the agents that NAME means, as in @step: developer-:crash-at-start, 2:api-error.
//
//	no-document        says that it wrote the handoff document, and did not
//	empty-document     the document has no bytes
//	blank-document     the document has only white space
//	directory-document a directory stands at the document's path
//	symlink-document   a symbolic link to a file in the working directory stands there
//	huge-document      the document has size=N bytes (default 1048576)
//	size=N             see huge-document
//	no-further         the document has the four usual headings alone
//	no-headings        the document has no heading at all
//	claims             the document names ghost.go as modified, which does not exist
//	late-document=DUR  the document is written DUR after the Stop hooks were started
//	slow-start=DUR     nothing happens for DUR: no SessionStart, no composer on the screen
//	no-session-start   SessionStart is never sent
//	no-prompt-hook     UserPromptSubmit is never sent
//	no-stop            turns end without any hook, as after Esc
//	stop-twice         each Stop is sent twice; the first one's answer counts
//	crash-on-instruction  exit 1 in the middle of a turn that is told to write a handoff document
//	crash-at-start     exit 1 before anything else
//	ignore-exit        /exit does nothing
//	ignore-term        SIGTERM does nothing (SIGHUP and SIGINT still end it)
//	exit-dialog        /exit opens "1. Exit and stop tasks" and waits for Enter
//	swallow-enter      the first Enter after a paste leaves the text in the composer, one more submits it
//	login              asks for a login in the browser before the session; Enter goes on
//	trust              asks before the session whether the folder is trusted; Enter is "No, exit"
//	lost-prompt        the prompt on the command line is forgotten
//	no-final-message   Stop has no last_assistant_message, the transcript has the answer
//	no-final-text      answers have no text: neither Stop nor the transcript has one
//	two-blocks         an answer with headings is two blocks of text; Stop has the second alone
//	late-transcript[=DUR]  the transcript gets an answer DUR (200ms) after the Stop hooks were started, or
//	                   at the session's end. Claude Code itself is up to 400 ms late
//	report             in a step of a pipeline answers are those of @report where nothing asks for
//	                   others, as the system prompt wants it
//	api-error[=KIND]   turns end with StopFailure, error KIND: rate_limit, authentication_failed or unknown; with
//	                   usage_limit it is rate_limit, with what Claude Code says of a subscription's limit
//	foreign-secret     hooks are run with another UNDERSTUDY_LAUNCH
//	child-hooks        each turn runs a child with inherited environment that sends SessionStart, Stop
//	                   and SessionEnd with a CLAUDE_PID of its own, as `claude -p` inside an agent does
//	task-notification[=DUR]  a turn of its own with UserPromptSubmit, DUR (50ms) after the end of a turn
//	think=DUR          time before each answer (default 30ms), which ends when this is taken back
//	exit-delay=DUR     time between SessionEnd and the end of the process
//
// Those of -p:
//
//	fork-empty         the answer has no text; the result is a success all the same
//	fork-error         the result is an error, "API Error: 529 overloaded", exit 1
//	fork-hang[=DUR]    no answer, or one after DUR; SIGTERM ends it at once (unless ignore-term). The file
//	                   named by SCRIPTED_AGENT_PIDFILE gets its process id on the first line
//	fork-child         with fork-hang: starts a sleep of 120 s in its process group, which SIGTERM to
//	                   itself does not end; the process id is the file's second line
//	fork-blocks        the answer is two blocks of text in one message; the result has the second alone
//	fork-tool          a message with text and a call of Write comes first. If PreToolUse's hooks deny it,
//	                   it is refused, else it makes fork-tool-ran in the working directory
//
// # Where it differs from Claude Code
//
// Its hooks are held against a recording of Claude Code's, with their order and their fields; what differs
// there is listed in recorded_test.go. Besides:
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
