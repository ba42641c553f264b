package runtimes

import (
	"slices"
	"strings"
	"testing"
)

// TestArgsThatTheLaunchDependsOn: an operator cannot override what the launch and the supervision need, however it is written. Every
// other flag is let through, also one that we do not know.
func TestArgsThatTheLaunchDependsOn(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		rt   *Runtime
		args []string
		want string // a part of the error; "": none
	}{
		{claude, nil, ""},
		{claude, []string{"--add-dir", "/a", "/b", "--effort=high", "--mcp-config", "x.json", "--verbose"}, ""},
		{claude, []string{"--not-known-yet", "value", "--also-new=1", "--debug"}, ""},
		{claude, []string{"--agent", "--settings"}, ""}, // the value of --agent, for the CLI as well
		{claude, []string{"--settings", "x"}, "--settings cannot be given: understudy would hear nothing"},
		{claude, []string{"--settings=x"}, "--settings cannot"},
		{claude, []string{"--new", "--settings=x"}, "--settings cannot"},
		{claude, []string{"--session-id=1"}, "chooses the session"},
		{claude, []string{"-c"}, "short flag"},
		{claude, []string{"-pc"}, "short flag"},
		{claude, []string{"-r", "x"}, "short flag"},
		{claude, []string{"--resume"}, "chooses the session"},
		{claude, []string{"--fork-session"}, "chooses the session"},
		{claude, []string{"--append-system-prompt", "x"}, "skill.md"},
		{claude, []string{"--system-prompt-file=x"}, "skill.md"},
		{claude, []string{"--model", "opus"}, "use --model"},
		{claude, []string{"--permission-mode=plan"}, "use --mode"},
		{claude, []string{"--dangerously-skip-permissions"}, "use --mode"},
		{claude, []string{"--print"}, "not run in its pane"},
		{claude, []string{"--bare"}, "hear nothing"},
		{claude, []string{"fix it"}, "--prompt"},
		{claude, []string{"--verbose", "fix it"}, "--prompt"},
		{claude, []string{"--", "fix it"}, "--prompt"},
		{claude, []string{"--x\x00"}, "NUL"},
		{claude, slices.Repeat([]string{"--x"}, maxArgs+1), "at most"},
		{claude, []string{"--x=" + strings.Repeat("a", maxArgsBytes)}, "bytes"},
		{codex, []string{"-c", "model_reasoning_effort=high", "--search", "-p", "work", "-i", "a.png"}, ""},
		{codex, []string{"-cmodel_reasoning_effort=high"}, ""},
		{codex, []string{"-c", "hooks.Stop=[]"}, "-c hooks.Stop=[] cannot be given: understudy would hear nothing"},
		{codex, []string{"-chooks.Stop=[]"}, "hear nothing"},
		{codex, []string{"-c=hooks={}"}, "hear nothing"},
		{codex, []string{"--config", "developer_instructions=x"}, "skill.md"},
		{codex, []string{"--config=sandbox_mode=x"}, "use --mode"},
		{codex, []string{"-sread-only"}, "use --mode"},
		{codex, []string{"-m", "x"}, "use --model"},
		{codex, []string{"--cd=/"}, "use --cwd"},
		{codex, []string{"resume", "x"}, "--prompt"},
		{opencode, []string{"--print-logs", "--log-level", "DEBUG"}, ""},
		{opencode, []string{"--port=1"}, "talks to that server"},
		{opencode, []string{"--mdnsDomain", "x"}, "talks to that server"},
		{opencode, []string{"--no-port"}, "talks to that server"},
		{opencode, []string{"/other"}, "--prompt"},
		{omp, []string{"--extension", "x.ts", "--no-title"}, ""},
		{omp, []string{"--no-extensions"}, "hear nothing"},
		{omp, []string{"--session-dir", "x"}, "chooses the session"},
		{gemini, []string{"--include-directories", "/a", "--skip-trust"}, ""},
		{gemini, []string{"--sessionId", "x"}, "chooses the session"},
		{gemini, []string{"--promptInteractive=x"}, "use --prompt"},
		{gemini, []string{"-y"}, "use --mode"},
		{gemini, []string{"--sandbox"}, "not run in its pane"},
	} {
		err := tt.rt.CheckArgs(tt.args)
		switch {
		case tt.want == "" && err != nil:
			t.Errorf("%s %.200q: %v", tt.rt.Name, tt.args, err)
		case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s %.200q: got %v, want %q", tt.rt.Name, tt.args, err, tt.want)
		}
	}
}

// TestArgsStandBeforeTheLaunch: what the operator has added stands right behind the command, so that the launch's own flags come last.
func TestArgsStandBeforeTheLaunch(t *testing.T) {
	t.Parallel()
	for _, rt := range All() {
		s := Spec{
			AgentID: 1, Name: "n", SessionID: "424b09e1-f7ff-4450-bc96-989cb02b4d4d", Cwd: "/w", Command: []string{"cli", "--fixed"}, Args: []string{"--added=1"}, Binary: "/bin/true",
			Dir: "/d", Server: Server{Port: 1, Password: "x"}, User: UserHome{Path: "/h"},
		}
		l, err := rt.Launch(s)
		if err != nil {
			t.Fatal(err)
		}
		if len(l.Argv) < 4 || !slices.Equal(l.Argv[:3], []string{"cli", "--fixed", "--added=1"}) {
			t.Errorf("%s: %q", rt.Name, l.Argv)
		}
	}
}
