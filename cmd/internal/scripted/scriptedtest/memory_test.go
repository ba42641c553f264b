package scriptedtest

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/understudyd/understudy/cmd/internal/scripted"
	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

func TestMain(m *testing.M) { os.Exit(wardentest.Run(m.Run)) }

const sessionID = "aaaaaaaa-0000-4000-8000-000000000001"

// inMemory is an agent without a process of its own, in a bubble. Its hooks are noted, and it is a terminal.
type inMemory struct {
	t      *testing.T
	dir    string
	keys   chan []byte
	kill   context.CancelFunc
	code   chan int
	out    bytes.Buffer // what it prints
	answer func(event string) string

	hung atomic.Bool // a hook hangs

	signals chan os.Signal

	mu       sync.Mutex
	rows     []string
	hooks    []string
	payloads [][]byte // of these hooks
	wrote    []string
}

func (m *inMemory) Open() (<-chan []byte, error) { return m.keys, nil }
func (m *inMemory) Size() (width, height int)    { return 200, 50 }
func (m *inMemory) Suspend()                     {}
func (m *inMemory) Close()                       {}

func (m *inMemory) Draw(f scripted.Frame) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.rows = f.Rows()
}

// run is a hook: it notes the event, and prints the answer that there is for it.
func (m *inMemory) run(ctx context.Context, c scripted.Command) scripted.Result {
	event := c.Argv[len(c.Argv)-1]
	m.mu.Lock()
	m.hooks = append(m.hooks, event)
	m.payloads = append(m.payloads, c.Stdin)
	said := ""
	if m.answer != nil {
		said = m.answer(event)
	}
	m.mu.Unlock()
	if said == "hang" {
		m.hung.Store(true)
		<-ctx.Done()
		<-time.After(10 * time.Microsecond)
		m.hung.Store(false)
		return scripted.Result{Code: -1, Err: ctx.Err()}
	}
	return scripted.Result{Stdout: []byte(said)}
}

// startInMemory starts an agent, and begins a bubble's test.
func startInMemory(t *testing.T, behave string, args ...string) *inMemory {
	t.Helper()
	dir := wardentest.Value(filepath.EvalSymlinks(t.TempDir()))(t)
	wardentest.Must(t, os.WriteFile(filepath.Join(dir, "behave"), []byte(behave), 0o600))
	m := newInMemory(t, dir)
	events := []string{"SessionStart", "SessionEnd", "UserPromptSubmit", "Stop", "PreToolUse"}
	m.start(events, append([]string{"--session-id", sessionID, "--permission-mode", "acceptEdits"}, args...)...)
	return m
}

// newInMemory is an agent that was not started yet, in a directory in which others may have been.
func newInMemory(t *testing.T, dir string) *inMemory {
	return &inMemory{t: t, dir: dir, keys: make(chan []byte, 16), code: make(chan int, 1), signals: make(chan os.Signal, 1)}
}

// start starts the agent with hooks for some events.
func (m *inMemory) start(events []string, args ...string) {
	m.t.Helper()
	all := map[string]any{}
	for _, event := range events {
		all[event] = []any{map[string]any{"hooks": []any{map[string]any{"type": "command", "command": event}}}}
	}
	settings := wardentest.Value(json.Marshal(map[string]any{"hooks": all, "permissions": map[string]any{"allow": []string{"Edit(/" + m.dir + "/**)"}}}))(m.t)
	ctx, kill := context.WithCancel(m.t.Context())
	m.kill = kill
	p := scripted.Process{
		Args:    append([]string{"--settings", string(settings)}, args...),
		Environ: []string{"CLAUDE_CONFIG_DIR=" + m.dir + "/config", "SCRIPTED_AGENT_FILE=" + m.dir + "/behave"},
		Dir:     m.dir, PID: 1 << 22, Stdin: strings.NewReader(""), Stdout: &m.out, Stderr: &m.out, Terminal: m, Run: m.run,
		Signals: func(...os.Signal) <-chan os.Signal { return m.signals },
		Wrote: func(path string) {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.wrote = append(m.wrote, path)
		},
	}
	go func() { m.code <- Run(ctx, p, "claude") }()
	m.t.Cleanup(kill)
}

// answers has hooks answered from now on; "hang" is no answer.
func (m *inMemory) answers(answer func(event string) string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.answer = answer
}

// prompt pastes a text, presses Enter and waits until the agent is idle or holds.
func (m *inMemory) prompt(text string) {
	m.keys <- []byte("\x1b[200~" + text + "\x1b[201~\r")
	<-time.After(time.Second)
	synctest.Wait()
}

func (m *inMemory) want(hooks ...string) {
	m.t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	equal(m.t, "hooks", m.hooks, hooks)
}

func (m *inMemory) shows(text string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return strings.Contains(strings.Join(m.rows, "\n"), text)
}

func (m *inMemory) file(name string) string {
	text, err := os.ReadFile(filepath.Join(m.dir, name))
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func (m *inMemory) transcript() string {
	return "config/projects/" + strings.ReplaceAll(m.dir, "/", "-") + "/" + sessionID + ".jsonl"
}

const itsRegistry = "config/sessions/4194304.json"

// TestInMemory is a session with two turns, whose second one writes a document, as goroutines of the test.
func TestInMemory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := startInMemory(t, "")
		document := m.dir + "/handoffs/20261120T141500-00000007.md"
		blocked := false
		m.answers(func(event string) string {
			if event != "Stop" || blocked {
				return ""
			}
			blocked = true
			return `{"decision":"block","reason":"Write the handoff document to ` + document + `"}`
		})
		<-time.After(time.Second)
		m.prompt("Paint the shed")
		m.want("SessionStart", "UserPromptSubmit", "Stop", "PreToolUse", "Stop")
		wardentest.Holds(t, "document", m.file("handoffs/"+filepath.Base(document)), "Paint the shed")
		if !m.shows("● ") || !m.shows("❯\u00a0") || !strings.Contains(m.file(itsRegistry), `"status":"idle"`) {
			t.Errorf("screen %q, registry %s", m.rows, m.file(itsRegistry))
		}
		for _, path := range []string{document, m.dir + "/" + m.transcript(), m.dir + "/" + itsRegistry} {
			if !slices.Contains(m.wrote, path) {
				t.Errorf("%s was written and not told of", path)
			}
		}
		m.keys <- []byte("/exit\r")
		equal(t, "exit status", <-m.code, 0)
		m.want("SessionStart", "UserPromptSubmit", "Stop", "PreToolUse", "Stop", "SessionEnd")
	})
}

// TestPrintInMemory is print mode without a process.
func TestPrintInMemory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := startInMemory(t, "", "-p", "Write a handoff document")
		if code := <-m.code; code != 0 || !strings.Contains(m.out.String(), "## Next Agent Context") {
			t.Errorf("exit status %d: %s", code, m.out.String())
		}
		m.want("SessionStart", "UserPromptSubmit", "Stop", "SessionEnd")
		hung := startInMemory(t, "fork-hang", "-p", "Write a handoff document")
		<-time.After(time.Hour)
		hung.kill()
		if code := <-hung.code; code == 0 || hung.out.Len() > 0 {
			t.Errorf("exit status %d, it printed %q", code, hung.out.String())
		}
		hung.want("SessionStart", "UserPromptSubmit")
	})
}

var equal = wardentest.Equal
