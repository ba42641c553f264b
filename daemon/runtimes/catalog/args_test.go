package catalog

import (
	"slices"
	"strings"
	"testing"

	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/runtimes/claude"
	"github.com/understudyd/understudy/daemon/runtimes/codex"
	"github.com/understudyd/understudy/daemon/runtimes/gemini"
	"github.com/understudyd/understudy/daemon/runtimes/omp"
	"github.com/understudyd/understudy/daemon/runtimes/opencode"
	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

var must, equal, wantErr = wardentest.Must, wardentest.Equal, wardentest.WantErr

func value[T any](v T, err error) func(testing.TB) T { return wardentest.Value(v, err) }

// TestArgsThatTheLaunchDependsOn: an operator cannot override what the launch and the supervision need, however it is written. Every
// other flag is let through, also one that we do not know.
func TestArgsThatTheLaunchDependsOn(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		rt   *runtimes.Runtime
		args []string
		want string // a part of the error; "": none
	}{
		{claude.Runtime, nil, ""},
		{claude.Runtime, []string{"--add-dir", "/a", "/b", "--effort=high", "--mcp-config", "x.json", "--verbose"}, ""},
		{claude.Runtime, []string{"--not-known-yet", "value", "--also-new=1", "--debug"}, ""},
		{claude.Runtime, []string{"--agent", "--settings"}, ""}, // the value of --agent, for the CLI as well
		{claude.Runtime, []string{"--settings", "x"}, "--settings cannot be given: understudy would hear nothing"},
		{claude.Runtime, []string{"--settings=x"}, "--settings cannot"},
		{claude.Runtime, []string{"--new", "--settings=x"}, "--settings cannot"},
		{claude.Runtime, []string{"--session-id=1"}, "chooses the session"},
		{claude.Runtime, []string{"-c"}, "short flag"},
		{claude.Runtime, []string{"-pc"}, "short flag"},
		{claude.Runtime, []string{"-r", "x"}, "short flag"},
		{claude.Runtime, []string{"--resume"}, "chooses the session"},
		{claude.Runtime, []string{"--fork-session"}, "chooses the session"},
		{claude.Runtime, []string{"--append-system-prompt", "x"}, "skill.md"},
		{claude.Runtime, []string{"--system-prompt-file=x"}, "skill.md"},
		{claude.Runtime, []string{"--model", "opus"}, "use --model"},
		{claude.Runtime, []string{"--permission-mode=plan"}, "use --mode"},
		{claude.Runtime, []string{"--dangerously-skip-permissions"}, "use --mode"},
		{claude.Runtime, []string{"--print"}, "not run in its pane"},
		{claude.Runtime, []string{"--bare"}, "hear nothing"},
		{claude.Runtime, []string{"fix it"}, "--prompt"},
		{claude.Runtime, []string{"--verbose", "fix it"}, "--prompt"},
		{claude.Runtime, []string{"--", "fix it"}, "--prompt"},
		{claude.Runtime, []string{"--x\x00"}, "NUL"},
		{claude.Runtime, slices.Repeat([]string{"--x"}, runtimes.MaxArgs+1), "at most"},
		{claude.Runtime, []string{"--x=" + strings.Repeat("a", runtimes.MaxArgsBytes)}, "bytes"},
		{codex.Runtime, []string{"-c", "model_reasoning_effort=high", "--search", "-p", "work", "-i", "a.png"}, ""},
		{codex.Runtime, []string{"-cmodel_reasoning_effort=high"}, ""},
		{codex.Runtime, []string{"-c", "hooks.Stop=[]"}, "-c hooks.Stop=[] cannot be given: understudy would hear nothing"},
		{codex.Runtime, []string{"-chooks.Stop=[]"}, "hear nothing"},
		{codex.Runtime, []string{"-c=hooks={}"}, "hear nothing"},
		{codex.Runtime, []string{"--config", "developer_instructions=x"}, "skill.md"},
		{codex.Runtime, []string{"--config=sandbox_mode=x"}, "use --mode"},
		{codex.Runtime, []string{"-sread-only"}, "use --mode"},
		{codex.Runtime, []string{"-m", "x"}, "use --model"},
		{codex.Runtime, []string{"--cd=/"}, "use --cwd"},
		{codex.Runtime, []string{"resume", "x"}, "--prompt"},
		{opencode.Runtime, []string{"--print-logs", "--log-level", "DEBUG"}, ""},
		{opencode.Runtime, []string{"--port=1"}, "talks to that server"},
		{opencode.Runtime, []string{"--mdnsDomain", "x"}, "talks to that server"},
		{opencode.Runtime, []string{"--no-port"}, "talks to that server"},
		{opencode.Runtime, []string{"/other"}, "--prompt"},
		{omp.Runtime, []string{"--extension", "x.ts", "--no-title"}, ""},
		{omp.Runtime, []string{"--no-extensions"}, "hear nothing"},
		{omp.Runtime, []string{"--session-dir", "x"}, "chooses the session"},
		{gemini.Runtime, []string{"--include-directories", "/a", "--skip-trust"}, ""},
		{gemini.Runtime, []string{"--sessionId", "x"}, "chooses the session"},
		{gemini.Runtime, []string{"--promptInteractive=x"}, "use --prompt"},
		{gemini.Runtime, []string{"-y"}, "use --mode"},
		{gemini.Runtime, []string{"--sandbox"}, "not run in its pane"},
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
		s := runtimes.Spec{
			AgentID: 1, Name: "n", SessionID: "424b09e1-f7ff-4450-bc96-989cb02b4d4d", Cwd: "/w", Command: []string{"cli", "--fixed"}, Args: []string{"--added=1"}, Binary: "/bin/true",
			Dir: "/d", Server: runtimes.Server{Port: 1, Password: "x"}, User: runtimes.UserHome{Path: "/h"},
		}
		l := value(rt.Launch(s))(t)
		if len(l.Argv) < 4 || !slices.Equal(l.Argv[:3], []string{"cli", "--fixed", "--added=1"}) {
			t.Errorf("%s: %q", rt.Name, l.Argv)
		}
	}
}
