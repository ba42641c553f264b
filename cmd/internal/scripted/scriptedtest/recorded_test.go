package scriptedtest

import (
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/understudyd/understudy/cmd/internal/scripted"
	"github.com/understudyd/understudy/hooks/hookstest"
	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

// knownDifferences are what the scripted agent does otherwise than the CLI, and why that is good enough.
var knownDifferences = []hookstest.Exception{
	{Scene: "queued_in_tool", Why: "what is typed while a tool runs waits for the next turn: the CLI's own does so when no tool runs"},
	{Scene: "idle", Event: "Notification", Why: "there are no reminders of an idle composer: the daemon sees by the Stop that it is idle"},
}

// notPlayed are the scenes of what the scripted agent cannot do. The simulation plays them.
var notPlayed = []string{
	"tool", "tool_fails", "login_expired", "background", "exit_with_task", "compact_refused", "compact_auto", "compact", "clear", "resume_command",
}

// TestHooksAreThoseOfTheCLI plays the scenes of the recording of the real CLI.
func TestHooksAreThoseOfTheCLI(t *testing.T) {
	t.Parallel()
	recording := wardentest.Value(hookstest.Load())(t)
	equal(t, "the version of the recording", recording.Version, scripted.Version)
	dir := wardentest.Value(filepath.EvalSymlinks(t.TempDir()))(t)
	synctest.Test(t, func(t *testing.T) {
		p := &player{t: t, dir: dir}
		plays := p.plays()
		c := hookstest.Comparison{Recording: recording, Exceptions: knownDifferences}
		for _, act := range hookstest.Acts() {
			play := plays[act.Name]
			if slices.Contains(notPlayed, act.Name) {
				continue
			}
			if play == nil {
				t.Fatalf("nobody plays the scene %s: %s", act.Name, act.Does)
			}
			p.from = p.played()
			play()
			if p.m.kill != nil {
				p.m.answers(nil)
			}
			for _, wrong := range c.Scene(act.Name, p.m.since(p.from)...) {
				t.Error(wrong)
			}
		}
		for _, wrong := range c.Unneeded() {
			t.Error(wrong)
		}
		p.m.kill()
	})
}

// player plays scenes with agents in memory.
type player struct {
	t    *testing.T
	dir  string
	m    *inMemory
	from int // how many hooks had run when the scene began
}

// since are the payloads of the hooks after the first ones.
func (m *inMemory) since(from int) [][]byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.payloads[from:])
}

func (p *player) played() int {
	if p.m == nil {
		return 0
	}
	return len(p.m.since(0))
}

// begin starts another process.
func (p *player) begin(args ...string) {
	p.m, p.from = newInMemory(p.t, p.dir), 0
	p.m.start(hookstest.Events(), append([]string{"--name", "developer-con-1", "--permission-mode", "manual"}, args...)...)
	p.pass(time.Second)
}

// pass lets time pass.
func (p *player) pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// press presses keys and lets the agent do what they mean.
func (p *player) press(keys string) {
	p.m.keys <- []byte(keys)
	p.pass(time.Second)
}

// ended waits for the end of the process.
func (p *player) ended(want int) {
	p.t.Helper()
	equal(p.t, "exit status", <-p.m.code, want)
}

// file writes a file in the working directory, which is also where the agents' behaviour stands.
func (p *player) file(name, text string) string {
	path := filepath.Join(p.dir, name)
	wardentest.Must(p.t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// blocks has the next hook of an event block.
func (p *player) blocks(event string) {
	done := false
	p.m.answers(func(e string) string {
		if e != event || done {
			return ""
		}
		done = true
		return `{"decision":"block","reason":"Say it again."}`
	})
}

// fails has a turn end with an error of the API.
func (p *player) fails(behaviour string) func() {
	return func() {
		p.file("behave", behaviour)
		p.m.prompt("hello")
		p.file("behave", "")
	}
}

// queues has a prompt submitted while a turn goes on.
func (p *player) queues() {
	done := filepath.Join(p.dir, "done")
	p.m.prompt("please @hold " + done)
	p.m.prompt("and this")
	p.file("done", "")
	p.pass(10 * time.Second)
	wardentest.Must(p.t, os.Remove(done))
}

func (p *player) plays() map[string]func() {
	const enter, escape = "\r", "\x1b"
	return map[string]func(){
		"start":              func() { p.begin("--session-id", sessionID) },
		"turn":               func() { p.m.prompt("hello") },
		"permission_granted": func() { p.m.prompt("please @ask"); p.pass(10 * time.Second); p.press(enter) },
		"permission_refused": func() { p.m.prompt("please @ask"); p.press("3") },
		"permission_escaped": func() { p.m.prompt("please @ask"); p.press(escape) },
		"interrupted":        func() { p.m.prompt("please @hold /nowhere"); p.press(escape) },
		"queued":             p.queues,
		"queued_in_tool":     p.queues,
		"stop_blocked":       func() { p.blocks("Stop"); p.m.prompt("hello") },
		"prompt_refused":     func() { p.blocks("UserPromptSubmit"); p.m.prompt("hello"); p.press("\x15") },
		"api_error":          p.fails("malformed"),
		"rate_limit":         p.fails("api-error"),
		"resume":             func() { p.begin("--resume", sessionID) },
		"idle":               func() { p.m.prompt("hello"); p.pass(2 * time.Minute) },
		"terminated":         func() { p.m.signals <- syscall.SIGTERM; p.ended(143) },
		"fork":               func() { p.begin("--resume", sessionID, "--fork-session") },
		"exit":               func() { p.press("/exit\r"); p.ended(0) },
		"fork_print": func() {
			p.begin("-p", "--resume", sessionID, "--fork-session", "--permission-mode", "dontAsk", "Write a handoff document.")
			p.ended(0)
		},
	}
}
