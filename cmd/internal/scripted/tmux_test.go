package scripted

import (
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
	value(exec.LookPath("tmux"))(t)
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
	pid := value(strconv.Atoi(p.tmux("display-message", "-p", "-t", p.id, "#{pane_pid}")))(t)
	process := value(os.FindProcess(pid))(t)
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
	holds(t, "the screen with the newest prompt", p.screen(), "task number 7")
	p.tmux("resize-window", "-t", "main", "-x", "60", "-y", "20")
	p.shows("\n" + strings.Repeat("─", 60) + "\n❯\u00a0being typed\n" + strings.Repeat("─", 60) + "\n")
}

// BenchmarkStart measures from exec to ready, without hooks: below 30 ms on a quiet machine.
func BenchmarkStart(b *testing.B) {
	var total time.Duration
	for range b.N {
		r := newRig(b)
		r.write("settings.json", "{}")
		began := time.Now()
		r.start(r.args()...)
		r.sees("\x1b]2;✳")
		total += time.Since(began)
	}
	b.ReportMetric(float64(total.Microseconds())/1000/float64(b.N), "ms/ready")
}
