//go:build e2e

package claudetest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/understudyd/understudy/cmd/internal/claudetest"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/runtimes/claude"
	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

// hookVariable makes this test binary a hook command: it sends its payload to the URL in the variable and prints the
// answer.
const hookVariable = "CLAUDETEST_HOOK_URL"

func TestMain(m *testing.M) {
	if url := os.Getenv(hookVariable); url != "" {
		runHook(url)
		os.Exit(0)
	}
	os.Exit(wardentest.Run(m.Run))
}

// hookCall is one call of the hook command.
type hookCall struct {
	At      time.Time
	Event   string `json:"hook_event_name"`
	Session string `json:"session_id"`
	Source  string `json:"source"`
	Prompt  string `json:"prompt"`
	Reason  string `json:"reason"`
	Active  bool   `json:"stop_hook_active"`

	Transcript string            `json:"transcript_path"`
	Env        map[string]string // CLAUDE_* and TMUX_PANE of the hook's environment
	Payload    json.RawMessage
}

func runHook(url string) {
	payload, _ := io.ReadAll(os.Stdin)
	call := hookCall{At: time.Now(), Env: map[string]string{}, Payload: payload}
	for _, kv := range os.Environ() {
		if k, v, _ := strings.Cut(kv, "="); strings.HasPrefix(k, "CLAUDE") || strings.HasPrefix(k, "TMUX") {
			call.Env[k] = v
		}
	}
	body, _ := json.Marshal(call)
	resp, err := http.Post(url, "application/json", bytes.NewReader(body))
	if err != nil {
		return
	}
	defer resp.Body.Close()
	_, _ = io.Copy(os.Stdout, resp.Body) // if it fails, the CLI gets no answer, and the test notices that
}

// hookLog receives the hook calls of one CLI.
type hookLog struct {
	url    string
	answer func(hookCall) string // may be nil
	events []string              // nil for the events of most tests

	mu      sync.Mutex
	calls   []hookCall
	changed chan struct{}
}

func newHookLog(t *testing.T, answer func(hookCall) string) *hookLog {
	t.Helper()
	l := &hookLog{answer: answer, changed: make(chan struct{})}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var call hookCall
		if err := json.NewDecoder(r.Body).Decode(&call); err != nil {
			t.Errorf("hook call: %v", err)
			return
		}
		if err := json.Unmarshal(call.Payload, &call); err != nil {
			t.Errorf("hook payload %s: %v", call.Payload, err)
		}
		l.mu.Lock()
		l.calls = append(l.calls, call)
		close(l.changed)
		l.changed = make(chan struct{})
		l.mu.Unlock()
		if l.answer != nil {
			_, _ = io.WriteString(w, l.answer(call))
		}
	}))
	t.Cleanup(srv.Close)
	l.url = srv.URL
	return l
}

func (l *hookLog) all() []hookCall {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]hookCall(nil), l.calls...)
}

// await returns the first call, from number skip on, that match accepts.
func (l *hookLog) await(t *testing.T, what string, match func(hookCall) bool) hookCall {
	t.Helper()
	timeout := time.After(2 * time.Minute)
	for seen := 0; ; {
		l.mu.Lock()
		fresh, changed := l.calls[seen:], l.changed
		l.mu.Unlock()
		for _, c := range fresh {
			if match(c) {
				return c
			}
		}
		seen += len(fresh)
		select {
		case <-changed:
		case <-timeout:
			t.Fatalf("no hook call: %s (%d calls in all)", what, seen)
		}
	}
}

func event(name string) func(hookCall) bool {
	return func(c hookCall) bool { return c.Event == name }
}

// settings returns settings with the hooks of these tests, and further top-level keys.
func (l *hookLog) settings(t *testing.T, more map[string]any) string {
	t.Helper()
	self := value(os.Executable())(t)
	hooks := map[string]any{}
	events := l.events
	if events == nil {
		events = []string{"SessionStart", "UserPromptSubmit", "Stop", "StopFailure", "PermissionRequest", "PostToolUse", "SessionEnd"}
	}
	for _, name := range events {
		hooks[name] = []any{map[string]any{"hooks": []any{map[string]any{"type": "command", "command": self, "args": []string{"-test.run=^$"}}}}}
	}
	s := map[string]any{"hooks": hooks}
	for k, v := range more {
		s[k] = v
	}
	b := value(json.Marshal(s))(t)
	return string(b)
}

// terminal is a tmux server of its own with one pane, in which the CLI runs.
type terminal struct {
	t    *testing.T
	sock string
	home claudetest.Home
	pid  int                 // process of the CLI
	look *look               // nil until the pane exists
	api  *claudetest.FakeAPI // set on a stage
	end  func()              // ends everything; called at the end of the test too
}

// start runs the CLI in a pane of the given size, with extra variables in its environment.
func start(t *testing.T, home claudetest.Home, size [2]int, extra []string, args ...string) *terminal {
	t.Helper()
	cli := claudetest.Install(t)
	dir := value(os.MkdirTemp("", "us"))(t)
	t.Cleanup(func() { os.RemoveAll(dir) })
	x := &terminal{t: t, sock: filepath.Join(dir, "s"), home: home}
	cmd := exec.Command("tmux", "-u", "-S", x.sock, "-f", "/dev/null", "start-server", ";",
		"set", "-g", "exit-empty", "off", ";", "set", "-g", "status", "off", ";", "set", "-g", "remain-on-exit", "on", ";",
		"set", "-g", "default-terminal", "tmux-256color")
	cmd.Env = append(append([]string{}, home.Environ...), extra...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("tmux: %v: %s: run `go run ./cmd/understudy doctor --fix`", err, out)
	}
	server := wardentest.Value(strconv.Atoi(strings.TrimSpace(x.tmux("display-message", "-p", "#{pid}"))))(t)
	x.end = sync.OnceFunc(func() {
		if x.look != nil {
			if x.t.Failed() {
				x.t.Logf("last screen:\n%s", x.screen())
			}
			_ = x.look.close() // an error does not matter: the client also ends with its server
		}
		x.tmux("kill-server")
		waitGone(x.t, server)
		if x.pid != 0 {
			waitGone(x.t, x.pid)
		}
	})
	t.Cleanup(func() { x.end() })
	argv := append([]string{"new-session", "-d", "-x", strconv.Itoa(size[0]), "-y", strconv.Itoa(size[1]),
		"-c", home.Workdir, "-P", "-F", "#{pane_pid}", "--", cli}, args...)
	if len(args) == 0 { // tmux would pass a single word to a shell
		t.Fatal("start needs arguments for the CLI")
	}
	x.pid = wardentest.Value(strconv.Atoi(strings.TrimSpace(x.tmux(argv...))))(t)
	x.look = wardentest.Value(newLook(x.sock))(t)
	return x
}

func (x *terminal) tmux(args ...string) string {
	x.t.Helper()
	return x.tmuxIn("", args...)
}

func (x *terminal) tmuxIn(stdin string, args ...string) string {
	x.t.Helper()
	cmd := exec.Command("tmux", append([]string{"-u", "-S", x.sock, "-f", "/dev/null"}, args...)...)
	cmd.Env = x.home.Environ // a pane gets the PATH of the client that makes it
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	if err != nil {
		x.t.Fatalf("tmux %q: %v: %s", args, err, out)
	}
	return string(out)
}

func (x *terminal) screen() string {
	x.t.Helper()
	return wardentest.Value(x.look.screen())(x.t)
}

func (x *terminal) keys(keys ...string) { x.tmux(append([]string{"send-keys", "--"}, keys...)...) }

// paste puts text into the composer and leaves it there.
func (x *terminal) paste(text string) { x.guarded(text, "paste-buffer -dpr -b t") }

// deliver types as the daemon does: one list of tmux commands that stashes a person's draft, pastes and submits.
func (x *terminal) deliver(text string) {
	x.guarded(text, "send-keys C-s ; paste-buffer -dpr -b t ; send-keys Enter")
}

// guarded runs a list only in a living pane, because paste-buffer into a dead one ends tmux 3.3a.
func (x *terminal) guarded(text, list string) {
	x.t.Helper()
	out := x.tmuxIn(text, "load-buffer", "-b", "t", "-", ";",
		"if-shell", "-F", "#{pane_dead}", "display-message -p DEAD", list)
	if out != "" {
		x.t.Fatalf("the CLI has ended; the list %q was not run", list)
	}
}

// lookEvery is how often a test captures the screen.
const lookEvery = 80 * time.Millisecond

// until polls the screen until ok is true.
func (x *terminal) until(what string, ok func(runtimes.Screen, string) bool) {
	x.t.Helper()
	pollEvery(x.t, lookEvery, what, func() bool {
		screen := x.screen()
		return ok(claude.Runtime.ReadScreen(runtimes.View{Text: screen}), screen)
	})
}

func (x *terminal) ready() {
	x.t.Helper()
	x.until("an empty composer", func(s runtimes.Screen, _ string) bool { return s.Composer && s.Draft == "" && !s.Busy })
}

func (x *terminal) registry() (runtimes.Registry, error) {
	b, err := os.ReadFile(runtimes.RegistryPath(x.home.ConfigDir, x.pid))
	if err != nil {
		return runtimes.Registry{}, err
	}
	return runtimes.ParseRegistry(b)
}

func (x *terminal) untilStatus(want runtimes.Status) {
	x.t.Helper()
	poll(x.t, fmt.Sprintf("registry status %q", want), func() bool {
		r, err := x.registry()
		return err == nil && r.Status == want
	})
}

// alive reports whether a process runs. It is false for a zombie, which tmux 3.3a may leave until its next SIGCHLD.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(rest, "Z")
}

func waitGone(t *testing.T, pid int) {
	t.Helper()
	poll(t, fmt.Sprintf("the end of process %d", pid), func() bool { return !alive(pid) })
}

func poll(t *testing.T, what string, ok func() bool) {
	t.Helper()
	pollEvery(t, 5*time.Millisecond, what, ok)
}

func pollEvery(t *testing.T, every time.Duration, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(every)
	defer tick.Stop()
	for deadline := time.Now().Add(2 * time.Minute); !ok(); {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
		<-tick.C
	}
}
