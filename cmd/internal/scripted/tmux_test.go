package scripted

import (
	"bytes"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

// pane is an agent in a tmux server of its own.
type pane struct {
	*rig
	socket string
	id     string
}

func (p *pane) tmux(args ...string) string {
	p.t.Helper()
	cmd := exec.Command("tmux", append([]string{"-u", "-S", p.socket, "-f", "/dev/null"}, args...)...)
	cmd.Env = without("TMUX", "TMUX_PANE")
	out, err := cmd.CombinedOutput()
	if err != nil {
		p.t.Fatalf("tmux %q: %v: %s", args, err, out)
	}
	return strings.TrimRight(string(out), "\n")
}

func (p *pane) screen() string { return p.tmux("capture-pane", "-p", "-t", p.id) }

func (p *pane) shows(text string) {
	p.t.Helper()
	p.eventually("pane shows "+text, func() bool { return strings.Contains(p.screen(), text) })
}

// inTmux starts an agent in a pane of the given size and waits until its title says that it is ready.
func inTmux(t *testing.T, misbehave string, width, height int) *pane {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Fatal("tmux is missing: run `go run ./cmd/understudy doctor --fix`")
	}
	r := newRig(t)
	r.write("behave", misbehave)
	p := &pane{rig: r, socket: r.dir + "/tmux.sock"}
	args := []string{"new-session", "-d", "-s", "main", "-x", strconv.Itoa(width), "-y", strconv.Itoa(height), "-c", r.cwd, "-P", "-F", "#{pane_id}"}
	for _, entry := range r.environ() {
		if strings.Contains(entry, "SCRIPTED") || strings.HasPrefix(entry, "CLAUDE") || strings.HasPrefix(entry, "UNDERSTUDY") || strings.HasPrefix(entry, "HOME=") {
			args = append(args, "-e", entry)
		}
	}
	args = append(args, program(t))
	p.id = p.tmux(append(args, r.args()...)...)
	pid, err := strconv.Atoi(p.tmux("display-message", "-p", "-t", p.id, "#{pane_pid}"))
	must(t, err)
	process, err := os.FindProcess(pid)
	must(t, err)
	r.cmd = &exec.Cmd{Process: process}
	t.Cleanup(func() {
		_ = process.Kill()                                            // ended already, in some tests; it must not write while its directory is removed
		_ = exec.Command("tmux", "-S", p.socket, "kill-server").Run() // ends by itself with its last pane
	})
	p.eventually("title", func() bool {
		return p.tmux("display-message", "-p", "-t", p.id, "#{pane_title}") == "✳ developer-con-1"
	})
	return p
}

// paste types as a supervisor does: stash, bracketed paste, Enter, in one tmux command.
func (p *pane) paste(text string) {
	p.t.Helper()
	p.tmux("send-keys", "-t", p.id, "C-s", ";", "set-buffer", "-b", "b", text, ";",
		"paste-buffer", "-d", "-p", "-r", "-b", "b", "-t", p.id, ";", "send-keys", "-t", p.id, "Enter")
}

func TestInTmux(t *testing.T) {
	t.Parallel()
	p := inTmux(t, "", 200, 50)
	p.status("idle")
	p.tmux("send-keys", "-t", p.id, "-l", "a draft")
	p.shows("❯\u00a0a draft")
	text := "first line with 'quotes' and $(x)\nsecond line"
	p.paste(text)
	log := p.hooks("SessionStart(startup)", "UserPromptSubmit", "Stop")
	equal(t, "prompt", log[1].field("prompt"), text)
	equal(t, "TMUX_PANE of the hook", log[1].Pane, p.id)
	p.shows("❯\u00a0a draft")
	p.idle()
	p.tmux("send-keys", "-t", p.id, "C-u")
	p.paste("/exit")
	p.hooks("SessionStart(startup)", "UserPromptSubmit", "Stop", "SessionEnd(prompt_input_exit)")
}

// The composer stands between two rules, as wide as the pane, with header above and footer below.
func TestScreenLayout(t *testing.T) {
	t.Parallel()
	p := inTmux(t, "", 80, 24)
	for n := range 8 { // more than the screen holds
		p.paste("task number " + strconv.Itoa(n))
		p.eventually("stops", func() bool { return len(p.log()) == 1+2*(n+1) })
	}
	p.idle()
	p.tmux("send-keys", "-t", p.id, "-l", "being typed")
	p.shows("being typed")
	rows := strings.Split(p.screen(), "\n")
	if !strings.HasPrefix(rows[0], "✻ Scripted agent") {
		t.Errorf("first row: %q", rows[0])
	}
	rule, at := strings.Repeat("─", 80), -1
	for i, row := range rows {
		if row == "❯\u00a0being typed" {
			at = i
		}
	}
	if at < 1 || rows[at-1] != rule || rows[at+1] != rule || !strings.Contains(rows[at+2], "acceptEdits") {
		t.Errorf("composer at row %d:\n%s", at, p.screen())
	}
	if !strings.Contains(p.screen(), "task number 7") {
		t.Error("the newest prompt is not on the screen")
	}
	p.tmux("resize-window", "-t", "main", "-x", "60", "-y", "20")
	p.shows("\n" + strings.Repeat("─", 60) + "\n❯\u00a0being typed\n" + strings.Repeat("─", 60) + "\n")
}

// started runs an agent without hooks and says how long it took from exec to ready.
func started(t testing.TB) (*rig, time.Duration) {
	r := newRig(t)
	r.write("settings.json", "{}")
	began := time.Now()
	r.start(r.args()...)
	r.sees("\x1b]2;✳")
	return r, time.Since(began)
}

// BenchmarkStart is the figure to watch: below 30 ms on a quiet machine.
func BenchmarkStart(b *testing.B) {
	var total time.Duration
	for range b.N {
		_, took := started(b)
		total += took
	}
	b.ReportMetric(float64(total.Microseconds())/1000/float64(b.N), "ms/ready")
}

// Those who wait for agents should not wait for their start, nor pay for agents that wait. The best of
// several starts counts, with room for the race detector: other tests share the machine.
func TestStartIsQuickAndIdleIsFree(t *testing.T) {
	const limit = 300 * time.Millisecond // under the race detector, on a busy machine
	r, best := started(t)
	for range 20 {
		if best < limit {
			break
		}
		var took time.Duration
		r, took = started(t)
		best = min(best, took)
	}
	if best >= limit {
		t.Errorf("ready after %v at best, want less than %v", best, limit)
	}
	r.idle()
	before := cpuTicks(t, r.cmd.Process.Pid)
	<-time.After(500 * time.Millisecond) // the span that is measured; nothing is waited for
	if used := cpuTicks(t, r.cmd.Process.Pid) - before; used > 1 {
		t.Errorf("%d hundredths of a second of CPU in half a second of doing nothing", used)
	}
}

// cpuTicks is the time a process has used, in hundredths of a second.
func cpuTicks(t *testing.T, pid int) int {
	t.Helper()
	out, err := exec.Command("ps", "-o", "cputime=", "-p", strconv.Itoa(pid)).Output()
	if text, readErr := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat"); readErr == nil {
		fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
		user, _ := strconv.Atoi(string(fields[11]))
		system, _ := strconv.Atoi(string(fields[12]))
		return user + system
	}
	if err != nil {
		t.Fatal(err)
	}
	seconds := strings.Split(strings.TrimSpace(string(out)), ":")
	n, _ := strconv.ParseFloat(seconds[len(seconds)-1], 64)
	return int(n * 100)
}
