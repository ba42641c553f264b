package scripted

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/understudyd/understudy/cmd/internal/child/childtest"
	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

func TestMain(m *testing.M) { os.Exit(wardentest.Run(m.Run)) }

// programs are the scripted agent. What its goroutines do at once the race detector sees in the tests of
// scriptedtest, which run it without a process.
var programs = childtest.NewPrograms("./scriptedtest/testdata/agent")

func program(t testing.TB) string { return programs.Path(t, "agent") }

const sessionID = "aaaaaaaa-0000-4000-8000-000000000001"

// rig is one scripted agent with hooks that log what they get.
type rig struct {
	t        testing.TB
	dir, cwd string
	behave   string // the file of misbehaviours
	cmd      *exec.Cmd
	tty      *os.File
	exited   chan struct{}

	mu     sync.Mutex
	output bytes.Buffer
}

// hookScript appends event, environment and payload to the log as one JSON line, and prints
// answers/EVENT once, if there is one.
const hookScript = `printf '{"pid":"%%s","launch":"%%s","sid":"%%s","pane":"%%s","entry":"%%s","payload":%%s}\n' "$CLAUDE_PID" "$UNDERSTUDY_LAUNCH" "$CLAUDE_CODE_SESSION_ID" "$TMUX_PANE" "$CLAUDE_CODE_ENTRYPOINT" "$(cat)" >> %[1]q/log; if mv %[1]q/answers/%[2]s %[1]q/answers/%[2]s.$$ 2>/dev/null; then cat %[1]q/answers/%[2]s.$$; fi`

func newRig(t testing.TB) *rig {
	t.Helper()
	dir := value(os.MkdirTemp("", "us-sa-"))(t)
	dir = value(filepath.EvalSymlinks(dir))(t)
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Errorf("something still works there: %v", err)
		}
	})
	r := &rig{t: t, dir: dir, cwd: filepath.Join(dir, "work"), behave: filepath.Join(dir, "behave"), exited: make(chan struct{})}
	for _, sub := range []string{"work", "config", "answers", "data/personas/p/handoffs"} {
		must(t, os.MkdirAll(filepath.Join(dir, sub), 0o755))
	}
	r.settings("SessionStart", "SessionEnd", "UserPromptSubmit", "Stop", "StopFailure", "PermissionRequest", "PreCompact", "PostCompact")
	return r
}

// settings writes the settings file, with the logging hook for some events.
func (r *rig) settings(events ...string) {
	hooks := map[string]any{}
	for _, event := range events {
		hooks[event] = []any{map[string]any{"hooks": []any{map[string]any{
			"type": "command", "command": fmt.Sprintf(hookScript, r.dir, event), "timeout": 10,
		}}}}
	}
	rule := "Edit(/" + r.dir + "/data/personas/**)"
	text := value(json.Marshal(map[string]any{"hooks": hooks, "permissions": map[string]any{"allow": []string{rule}}}))(r.t)
	r.write("settings.json", string(text))
}

func (r *rig) write(name, text string) string {
	r.t.Helper()
	path := filepath.Join(r.dir, name)
	must(r.t, os.WriteFile(path, []byte(text), 0o644))
	return path
}

// document is a path that a handoff may be written to.
func (r *rig) document() string {
	return filepath.Join(r.dir, "data/personas/p/handoffs/20261120T141500-00000007.md")
}

func (r *rig) environ() []string {
	env := without("TMUX", "TMUX_PANE", "HOME", "SCRIPTED_AGENT", "CLAUDE_CONFIG_DIR", "UNDERSTUDY_LAUNCH")
	return append(env, "HOME=", "CLAUDE_CONFIG_DIR="+r.dir+"/config",
		"SCRIPTED_AGENT_FILE="+r.behave, "UNDERSTUDY_LAUNCH=secret", "TERM=xterm-256color")
}

func (r *rig) args(more ...string) []string {
	return append([]string{"--settings", r.dir + "/settings.json", "--session-id", sessionID, "--name", "developer-con-1",
		"--permission-mode", "acceptEdits", "--model", "claude-opus-5-5"}, more...)
}

// start runs the agent in a pty and does not wait for it to be ready.
func (r *rig) start(args ...string) {
	r.t.Helper()
	r.cmd = exec.Command(program(r.t), args...)
	r.cmd.Env, r.cmd.Dir = r.environ(), r.cwd
	r.tty = value(pty.StartWithSize(r.cmd, &pty.Winsize{Rows: 50, Cols: 200}))(r.t)
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		chunk := make([]byte, 8192)
		for {
			n, err := r.tty.Read(chunk)
			r.mu.Lock()
			r.output.Write(chunk[:n])
			r.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	go func() { _ = r.cmd.Wait(); close(r.exited) }()
	r.t.Cleanup(func() {
		_ = r.cmd.Process.Kill() // it may have ended
		<-r.exited
		r.tty.Close()
		<-drained
		if r.t.Failed() {
			r.t.Logf("log:\n%s", strings.Join(r.order(), "\n"))
		}
	})
}

// ready starts the agent and waits until it is ready.
func ready(t *testing.T, misbehave string, args ...string) *rig {
	t.Helper()
	r := newRig(t)
	r.write("behave", misbehave)
	r.start(r.args(args...)...)
	r.idle()
	return r
}

// idle waits until the registry says so.
func (r *rig) idle() { r.t.Helper(); r.status("idle") }

func (r *rig) status(want string) {
	r.t.Helper()
	r.eventually("status "+want, func() bool { return r.registry().Status == want })
}

func (r *rig) registry() registryEntry {
	var entry registryEntry
	text, err := os.ReadFile(fmt.Sprintf("%s/config/sessions/%d.json", r.dir, r.cmd.Process.Pid))
	if err == nil && json.Unmarshal(text, &entry) != nil {
		r.t.Errorf("registry file is not whole: %s", text)
	}
	return entry
}

func (r *rig) send(keys string) {
	r.t.Helper()
	value(r.tty.WriteString(keys))(r.t)
}

// prompt pastes a text and presses Enter.
func (r *rig) prompt(text string) { r.t.Helper(); r.send(pasteBegin + text + pasteEnd + "\r") }

func (r *rig) screen() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.output.String()
}

func (r *rig) sees(text string) {
	r.t.Helper()
	r.eventually("screen shows "+text, func() bool { return strings.Contains(r.screen(), text) })
}

func (r *rig) eventually(what string, holds func() bool) {
	r.t.Helper()
	wardentest.Eventually(r.t, what, holds)
}

// logged is one line of the hooks' log.
type logged struct {
	PID, Launch, SID, Pane, Entry string
	Payload                       map[string]any
}

func (l logged) field(name string) string { return fmt.Sprint(l.Payload[name]) }

// name is the event with the field that tells its kinds apart.
func (l logged) name() string {
	name := l.field("hook_event_name")
	for _, kind := range []string{"source", "reason"} {
		if value, ok := l.Payload[kind]; ok {
			name += fmt.Sprintf("(%v)", value)
		}
	}
	return name
}

func (r *rig) log() []logged {
	text, _ := os.ReadFile(r.dir + "/log") // no file: no hook has run yet
	var out []logged
	rows := bytes.Split(text, []byte("\n"))
	for _, row := range rows[:len(rows)-1] { // the last one is empty, or still being written
		var l logged
		if err := json.Unmarshal(row, &l); err != nil {
			r.t.Fatalf("log line %s: %v", row, err)
		}
		out = append(out, l)
	}
	return out
}

func (r *rig) order() []string {
	var out []string
	for _, l := range r.log() {
		out = append(out, l.name())
	}
	return out
}

// hooks waits until exactly these events have been logged, in this order.
func (r *rig) hooks(want ...string) []logged {
	r.t.Helper()
	r.eventually(fmt.Sprintf("hooks %v", want), func() bool { return len(r.order()) >= len(want) })
	if got := r.order(); !slices.Equal(got, want) {
		r.t.Fatalf("hooks:\n got %v\nwant %v", got, want)
	}
	return r.log()
}

// end waits for the end of the process and checks its exit status.
func (r *rig) end(code int) {
	r.t.Helper()
	select {
	case <-r.exited:
	case <-time.After(time.Minute):
		r.t.Fatal("the process did not end")
	}
	if got := r.cmd.ProcessState.ExitCode(); got != code {
		r.t.Fatalf("exit status %d, want %d", got, code)
	}
}

func (r *rig) alive() bool { return r.cmd.Process.Signal(syscall.Signal(0)) == nil }

func (r *rig) transcript() string {
	text := value(os.ReadFile(r.transcriptPath()))(r.t)
	return string(text)
}

func (r *rig) transcriptPath() string {
	return filepath.Join(r.dir, "config/projects", strings.ReplaceAll(r.cwd, "/", "-"), sessionID+".jsonl")
}

// without is this process's environment less some names.
func without(names ...string) []string {
	return slices.DeleteFunc(os.Environ(), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.Contains(names, name)
	})
}

var must, equal, holds = wardentest.Must, wardentest.Equal, wardentest.Holds

func value[T any](v T, err error) func(testing.TB) T { return wardentest.Value(v, err) }

func failed[T any](v T, err error) func(testing.TB, string, ...any) { return wardentest.Failed(v, err) }
