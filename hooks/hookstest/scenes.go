package hookstest

// Act says how to play a scene.
type Act struct {
	Name string
	Does string
}

// Acts returns how to play the scenes of a recording, in order. Most continue with the process of the scene
// before.
func Acts() []Act {
	return []Act{
		{"start", "a CLI starts, with a name, in the mode that asks for permission"},
		{"turn", "it answers a prompt"},
		{"tool", "it answers a prompt by a tool that it may use, and a text"},
		{"tool_fails", "the tool fails"},
		{"permission_granted", "a tool needs permission; the person waits until they are reminded, and grants it"},
		{"permission_refused", "the person refuses it by the dialog's No"},
		{"permission_escaped", "the person presses Escape in the dialog"},
		{"interrupted", "the person presses Escape while the answer is written"},
		{"queued", "a second prompt is submitted while the answer to the first is written"},
		{"queued_in_tool", "a second prompt is submitted while a tool runs"},
		{"stop_blocked", "the hook of the first Stop has the turn go on"},
		{"prompt_refused", "the hook of a prompt refuses it"},
		{"api_error", "the API refuses the request as malformed"},
		{"rate_limit", "the API refuses the request for its limit"},
		{"login_expired", "the API refuses the login"},
		{"background", "a task in the background is started by a turn, and ends after it"},
		{"compact_refused", "the context is full when a prompt comes; the hook refuses the compaction"},
		{"compact_auto", "the context is full when a prompt comes"},
		{"compact", "/compact with an instruction"},
		{"clear", "/clear"},
		{"resume_command", "/resume of the session that was cleared"},
		{"exit_with_task", "/exit while a task runs in the background, confirmed"},
		{"resume", "a CLI starts with --resume"},
		{"idle", "it answers a prompt, and nobody types anything for a while"},
		{"terminated", "it gets SIGTERM"},
		{"fork", "a CLI starts with --resume and --fork-session"},
		{"exit", "/exit"},
		{"fork_print", "a CLI answers one prompt with -p, --resume and --fork-session"},
	}
}
