// Package scriptedtest is the agent of the tests. It is the scripted agent with a [scripted.Script] that follows
// directives in prompts and misbehaves on demand. No program for users links it. Tests run it as a program (folder
// agent) or, with [Run], as goroutines.
//
// # Directives
//
// Words in a prompt (or in the reason of a blocked Stop) steer the turn:
//
//	@hold FILE         the turn goes on until FILE exists
//	@tokens N          from now on each answer has a context of N tokens, in the transcript and for the
//	                   status line (until the next @tokens)
//	@decide TEXT       each later document has TEXT among its decisions. TEXT ends at the end of the line
//	                   or at the next directive
//	@ask               a tool call that needs permission: PermissionRequest, then a dialog
//	@say TEXT          the answer is TEXT, up to the end of the prompt or to "## Original request"
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
// duration is one of Go (300ms), or a bare number of milliseconds. DUR in brackets may be left out. N:MISBEHAVIOUR is for the agent of
// step N of a pipeline, as in 2:api-error.
//
//	no-document        says that it wrote the handoff document, and did not
//	no-stop            turns end without any hook, as after Esc
//	ignore-exit        /exit does nothing
//	ignore-term        SIGTERM does nothing (SIGHUP and SIGINT still end it)
//	trust              asks before the session whether the folder is trusted; Enter is "No, exit"
//	api-error          turns end with StopFailure, error rate_limit
//	malformed          turns end with StopFailure, error unknown
//	usage-limit[=DUR]  turns end with StopFailure, error rate_limit, with Claude Code's message about a subscription's limit
//	                   that is reset in DUR (1h), without its seconds
//	child-hooks        each turn runs a child with inherited environment that sends SessionStart, Stop
//	                   and SessionEnd with a CLAUDE_PID of its own, as `claude -p` inside an agent does
//	think=DUR          time before each answer (default 30ms). It ends when a test takes this back
//
// The misbehaviours of -p:
//
//	fork-hang          no answer; SIGTERM ends it at once (unless ignore-term). The file named by
//	                   SCRIPTED_AGENT_PIDFILE gets its process id
package scriptedtest
