package scripted

import (
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// once runs the agent without a terminal and returns its output and exit status.
func (r *rig) once(args ...string) (string, int) {
	r.t.Helper()
	cmd := exec.Command(program(r.t), args...)
	cmd.Env, cmd.Dir = r.environ(), r.cwd
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		r.t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

func TestCommandLine(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, row := range []struct {
		args string
		want string
		code int
	}{
		{"--version", Version + " (scripted agent)\n", 0},
		{"--no-such-flag", "error: unknown option '--no-such-flag'\n", 1},
		{"--settings /nowhere", "error: settings file not found: /nowhere\n", 1},
		{"--resume " + sessionID, "error: no conversation found with session ID: " + sessionID + "\n", 1},
		{"hello", "error: the scripted agent wants a terminal on its standard input\n", 1},
	} {
		got, code := r.once(strings.Fields(row.args)...)
		if !strings.Contains(got, row.want) || code != row.code {
			t.Errorf("%s: %q, exit %d; want %q, exit %d", row.args, got, code, row.want, row.code)
		}
	}
	r.write("behave", "nonsense")
	if got, code := r.once(); !strings.Contains(got, "unknown behaviour \"nonsense\"") || code != 1 {
		t.Errorf("%q, exit %d", got, code)
	}
}

func TestResumeAtStart(t *testing.T) {
	t.Parallel()
	r := ready(t, "")
	r.send("Paint the shed\r")
	r.hooks("SessionStart(startup)", "UserPromptSubmit", "Stop")
	r.idle()
	r.send("/exit\r")
	r.end(0)
	if out, code := r.once(r.args()...); code != 1 || !strings.Contains(out, "already in use") {
		t.Errorf("the session id was used twice: %q, exit %d", out, code)
	}

	again := &rig{t: t, dir: r.dir, cwd: r.cwd, behave: r.behave, exited: make(chan struct{})}
	again.start("--settings", r.dir+"/settings.json", "--resume", sessionID)
	again.idle()
	again.instruct()
	log := again.hooks("SessionStart(startup)", "UserPromptSubmit", "Stop", "SessionEnd(prompt_input_exit)",
		"SessionStart(resume)", "UserPromptSubmit", "Stop")
	equal(t, "resumed session", log[4].SID, sessionID)
	holds(t, "what the resumed session remembers", string(value(os.ReadFile(r.document()))(t)), "Paint the shed")
}

func TestPrintMode(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	out, code := r.once("-p", "--settings", r.dir+"/settings.json", "--output-format", "json", "Write a handoff document")
	var result struct {
		Result  string
		IsError bool `json:"is_error"`
	}
	if err := json.Unmarshal([]byte(out), &result); err != nil || code != 0 || result.IsError {
		t.Fatalf("%v, exit %d: %s", err, code, out)
	}
	holds(t, "result", result.Result, "## Next Agent Context")
	r.hooks("SessionStart(startup)", "UserPromptSubmit", "Stop", "SessionEnd(other)")
}

// The user's own settings count beside those of the flag, and an identical hook runs once.
func TestSettingsAreMerged(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	one := `{"hooks":{"SessionStart":[{"matcher":"startup|clear","hooks":[{"type":"command","command":"echo same >> $OUT"}]}%s]},"env":{"OUT":"` + r.dir + `/out"}}`
	r.write("settings.json", strings.Replace(one, "%s", "", 1))
	r.write("config/settings.json", strings.Replace(one, "%s",
		`,{"matcher":"resume","hooks":[{"type":"command","command":"echo never >> $OUT"}]}`+
			`,{"hooks":[{"type":"command","command":"sh","args":["-c","echo args >> $OUT"]}]}`, 1))
	r.start(r.args()...)
	r.idle()
	text, err := os.ReadFile(r.dir + "/out")
	if err != nil || strings.Count(string(text), "same") != 1 || strings.Count(string(text), "args") != 1 || len(text) != 10 {
		t.Errorf("%q, %v", text, err)
	}
}

// A hook that hangs is ended at its limit; the session goes on.
func TestHookTimeout(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write("settings.json", `{"hooks":{"SessionStart":[{"hooks":[{"type":"command","command":"echo $$ > `+r.dir+`/pid; sleep 1000","timeout":0.2}]}]}}`)
	r.start(r.args()...)
	r.idle()
	r.sees("SessionStart hook cancelled or timed out")
}
