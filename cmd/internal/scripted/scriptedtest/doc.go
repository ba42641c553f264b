// Package scriptedtest is the agent of the tests. It is the scripted agent with a [scripted.Script] that follows
// directives in prompts and misbehaves on demand. No program for users links it. Tests run it as a program (folder
// agent) or, with [Run], as goroutines.
//
// # Directives
//
// Words in a prompt (or in the reason of a blocked Stop) steer the turn:
//
//	@busy DUR          the turn takes DUR longer
//	@hold FILE         the turn goes on until FILE exists
//	@background        starts a background task by a call of Bash, listed by each Stop until the FILE of
//	                   @hold exists (@hold then does not delay the turn). The task's end begins a
//	                   <task-notification> turn. While the task runs, the registry says "shell" between
//	                   turns
//	@compact           the agent compacts the context before the answer, as when it is full. It sends
//	                   PreCompact(auto). If no hook blocks that, it sends SubagentStop,
//	                   SessionStart(compact) and PostCompact, and the context has 30,000 tokens
//	@tokens N          from now on each answer has a context of N tokens, in the transcript and for the
//	                   status line (until the next @tokens, compaction or /clear)
//	@edit FILE         a call of Edit adds a line to FILE, or makes FILE. A relative path is relative to
//	                   the working directory. The document names FILE as modified
//	@decide TEXT       each later document has TEXT among its decisions. TEXT ends at the end of the line
//	                   or at the next directive
//	@move DIR          a call of EnterWorktree moves the session, with its transcript, to DIR, which is made
//	                   if it is not there. At /exit the session goes back first, before SessionEnd
//	@ask               a tool call that needs permission: PermissionRequest, then a dialog
//	@say TEXT          the answer is TEXT, up to the end of the prompt or to "## Original request"
//	@raw FILE          the answer is exactly the content of FILE. A relative path is relative to the
//	                   working directory
//	@report            the answer is the answer of --report, also outside pipelines
//
// In the prompt of a pipeline's step, the directives of the step's own prompt and of the original request count.
// Directives of the previous step do not count. They stand in the paragraphs that begin with a label of the header, or
// between “ and ”, with which the agent's own answers quote. In print mode only @say and @decide count.
//
// # Misbehaviours
//
// The variable SCRIPTED_AGENT and the file that SCRIPTED_AGENT_FILE names each hold a comma-separated list, and the
// agent merges the two. It reads the file again at each turn and at each exit; in print mode it reads the file once. A
// duration is one of Go (300ms), or a bare number of milliseconds. DUR in brackets may be left out. NAME:MISBEHAVIOUR is
// for the agents whose --name begins with NAME. If NAME is a number, it is for the agent of that step of a pipeline.
// Examples: developer-:crash-at-start, 2:api-error.
//
//	no-document        says that it wrote the handoff document, and did not
//	empty-document     the document has no bytes
//	blank-document     the document has only white space
//	directory-document a directory stands at the document's path
//	symlink-document   a symbolic link to a file in the working directory stands there
//	huge-document[=N]  the document has N bytes (default 1048576)
//	no-further         the document has only the four usual headings
//	no-headings        the document has no heading at all
//	claims             the document names ghost.go as modified, which does not exist
//	late-document=DUR  the document is written DUR after the answer
//	slow-start=DUR     nothing happens for DUR: no SessionStart, no composer on the screen
//	no-session-start   SessionStart is never sent
//	no-prompt-hook     UserPromptSubmit is never sent
//	held-prompt=DUR    DUR passes from Enter to UserPromptSubmit, as while other hooks of the session's start run
//	refuse-prompt[=DUR]  another hook refuses each prompt, with the reason "the gate is closed", DUR after the prompt
//	no-stop            turns end without any hook, as after Esc
//	stop-twice         each Stop is sent twice; the first one's answer counts
//	crash-on-instruction  exit 1 in the middle of a turn that is told to write a handoff document
//	crash-at-start     exit 1 before anything else
//	ignore-exit        /exit does nothing
//	ignore-term        SIGTERM does nothing (SIGHUP and SIGINT still end it)
//	exit-dialog        /exit opens "1. Exit and stop tasks" and waits for Enter
//	swallow-enter      the first Enter after a paste leaves the text in the composer, a second one submits it
//	login              asks for a login in the browser before the session; Enter goes on
//	trust              asks before the session whether the folder is trusted; Enter is "No, exit"
//	strange-screen     from its start, it draws a screen that no version of the CLI draws
//	lost-prompt        the prompt on the command line is forgotten
//	no-read            it answers the prompt of its handoff without reading the files that the prompt names
//	no-final-message   Stop has no last_assistant_message, the transcript has the answer
//	no-final-text      answers have no text: neither Stop nor the transcript has one
//	late-transcript[=DUR]  the transcript gets an answer DUR (200ms) after the screen, or at the session's end.
//	                   Claude Code itself is up to 400 ms late
//	api-error[=KIND]   turns end with StopFailure, error KIND: rate_limit, overloaded, authentication_failed or unknown;
//	                   with usage_limit it is rate_limit, with Claude Code's message about a subscription's limit; with
//	                   context_full it is invalid_request, with its message about a full context window
//	usage-limit[=DUR]  the same as api-error=usage_limit, with a reset in DUR (1h), without its seconds
//	auto-resume=DUR    with usage-limit: DUR after that the agent goes on by itself
//	child-hooks        each turn runs a child with inherited environment that sends SessionStart, Stop
//	                   and SessionEnd with a CLAUDE_PID of its own, as `claude -p` inside an agent does
//	think=DUR          time before each answer (default 30ms). It ends when a test takes this back
//	exit-delay=DUR     time between SessionEnd and the end of the process
//
// The misbehaviours of -p:
//
//	fork-empty         the answer has no text, but the result is a success
//	fork-error         the result is an error, "API Error: 529 overloaded", exit 1
//	fork-hang[=DUR]    no answer, or one after DUR; SIGTERM ends it at once (unless ignore-term). The file
//	                   named by SCRIPTED_AGENT_PIDFILE gets its process id on the first line
//	fork-child         with fork-hang: starts a sleep of 120 s in its process group, which SIGTERM to
//	                   itself does not end; the process id is the file's second line
//	fork-blocks        the answer is two blocks of text in one message; the result has only the second
//	fork-tool          a message with text and a call of Write comes first. If a PreToolUse hook denies
//	                   the call, it is refused. Otherwise it makes fork-tool-ran in the working directory
package scriptedtest
