package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
)

func TestShellQuote(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":               "''",
		"/srv/data":      "/srv/data",
		"%5":             "%5",
		";":              "';'",
		"a b":            "'a b'",
		"it's":           `'it'\''s'`,
		"-x=$(rm -rf /)": "'-x=$(rm -rf /)'",
		"a'; rm -rf /;'": `'a'\''; rm -rf /;'\'''`,
		"ümlaut":         "'ümlaut'",
	} {
		if got := shellQuote(in); got != want {
			t.Errorf("shellQuote(%q) = %s, want %s", in, got, want)
		}
	}
}

func TestWhatAgentsWroteCannotSteerTheTerminal(t *testing.T) {
	t.Parallel()
	if got, want := printable("a\x1b[2Jb\r\nc\td\u009be\u007f\u202ef\u2066g\u061ch\u200di"), "a[2Jb c defgh\u200di"; got != want {
		t.Errorf("printable: %q, want %q", got, want)
	}
	var b bytes.Buffer
	u := &ui{out: &b}
	u.block("one\x1b]0;title\a\ntwo\n")
	if err := u.table([]string{"NAME"}, [][]string{{"x\x1b[31m\ty"}}); err != nil {
		t.Fatal(err)
	}
	u.fields("name", "\x1b[31mred", "empty", "")
	if strings.ContainsAny(b.String(), "\x1b\a") || strings.Contains(b.String(), "empty") {
		t.Errorf("printed %q", b.String())
	}
}

func TestWrap(t *testing.T) {
	t.Parallel()
	got := wrap("read  both, then go on with /a/very/long/path at once", 12)
	if want := "read both,\nthen go on\nwith\n/a/very/long/path\nat once"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A command can be copied from a terminal of any width; what is no command is broken.
func TestFold(t *testing.T) {
	t.Parallel()
	u := &ui{terminal: true}
	const own, git, code = "`understudy pipeline show 7 --step 1`", "`git -C /srv/app worktree remove /srv/d`", "`a b`"
	for _, c := range []struct {
		in   string
		want []string
	}{
		{"it fits  as it is", []string{"it fits  as it is"}},
		{"it does not fit as it is", []string{"it does not fit as", "it is"}},
		{"look at " + own + ", then go on", []string{"look at", own + ",", "then go on"}},
		{"then do " + git, []string{"then do", git}},
		{"you wrote and used " + code, []string{"you wrote and used", code}},
		{"you wrote `a very long piece of code`", []string{"you wrote `a very", "long piece of code`"}},
	} {
		if got := u.fold(c.in, 60); !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, want %q", c.in, got, c.want)
		}
		if got := (&ui{}).fold(c.in, 60); len(got) != 1 || got[0] != c.in {
			t.Errorf("in a pipe: %q", got)
		}
	}
}

func TestBlockAt80Columns(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	u := &ui{out: &b, terminal: true}
	u.block("# Head\n\n  - " + strings.Repeat("words ", 14) + "\n    x := 1\n")
	want := "  │ # Head\n  │ \n  │   - " + strings.TrimSpace(strings.Repeat("words ", 12)) + "\n  │   words words\n  │     x := 1\n"
	if b.String() != want {
		t.Errorf("got:\n%swant:\n%s", &b, want)
	}
}

// A line that is taken back must not be wider than the terminal, whatever it names.
func TestProgressTakesBackLongCommands(t *testing.T) {
	t.Parallel()
	var screen bytes.Buffer
	p := &progress{ui: &ui{out: &screen, terminal: true}}
	p.start("delivery 5", time.Now())
	p.wait("answer it with `understudy agent attach 12 --data /srv/" + strings.Repeat("x", 40) + " --and --more --of --that`")
	if p.drawn != 4 || strings.Contains(screen.String(), "…") {
		t.Errorf("%d lines: %q", p.drawn, screen.String())
	}
}

func TestProgress(t *testing.T) {
	t.Parallel()
	story := func(p *progress) {
		p.start("instructing", time.Now())
		p.draw()
		p.wait("the agent is in a turn")
		p.waits = p.waits.Add(-2 * patience) // it has been waiting for long
		p.draw()
		p.draw()
		p.done("instructing", 1500*time.Millisecond, "agent 1 took the instruction")
		p.phase(daemon.Transition{From: daemon.Verifying, To: daemon.Failed}, &daemon.Handoff{}, time.Second)
		p.phase(daemon.Transition{From: daemon.Failed, To: daemon.Verifying}, &daemon.Handoff{}, time.Second)
	}
	const lines = `  ✓ instructing               1.50 s  agent 1 took the instruction
  ✗ verifying                 1.00 s  failed
  ↻ retried: verifying
`
	var pipe bytes.Buffer
	story(&progress{ui: &ui{out: &pipe}})
	if want := "  … instructing                       waits: the agent is in a turn\n" + lines; pipe.String() != want {
		t.Errorf("in a pipe:\n%s\nwant:\n%s", pipe.String(), want)
	}

	// What was drawn and taken back is not there to be seen.
	var screen bytes.Buffer
	story(&progress{ui: &ui{out: &screen, terminal: true}})
	if !strings.Contains(screen.String(), "⠙ instructing") && !strings.Contains(screen.String(), "⠹ instructing") {
		t.Errorf("no spinner in %q", screen.String())
	}
	if got := seen(screen.String()); got != lines {
		t.Errorf("on a terminal:\n%s\nwant:\n%s", got, lines)
	}
}

// seen is what a terminal shows in the end of what was written to it; it knows what progress uses.
func seen(written string) string {
	lines, row := []string{""}, 0
	for written != "" {
		switch {
		case strings.HasPrefix(written, "\r\x1b[1A"), strings.HasPrefix(written, "\r\x1b[2A"):
			row -= int(written[3] - '0')
			written = written[5:]
		case strings.HasPrefix(written, "\r"):
			written = written[1:]
		case strings.HasPrefix(written, "\x1b[J"):
			lines, written = append(lines[:row], ""), written[3:]
		case written[0] == '\n':
			row++
			lines, written = append(lines, ""), written[1:]
		default:
			n := strings.IndexAny(written, "\r\n\x1b")
			if n < 0 {
				n = len(written)
			}
			if n == 0 {
				return fmt.Sprintf("unknown to the test: %q", written)
			}
			lines[row], written = lines[row]+written[:n], written[n:]
		}
	}
	return strings.Join(lines, "\n")
}

func TestProgressAt80Columns(t *testing.T) {
	t.Parallel()
	var screen bytes.Buffer
	a := &app{getenv: noEnv, dataFlag: "/srv/d"}
	p := &progress{ui: &ui{out: &screen, terminal: true, withData: a.withData}}
	p.done("verifying", time.Second, "/srv/"+strings.Repeat("x", 60)+".md")
	p.start("delivery 5", time.Now())
	p.wait("a dialog is open in agent 12's pane: answer it with `understudy agent attach 12`")
	got := strings.Split(seen(screen.String()), "\n")
	if want := []string{
		"  ✓ verifying                 1.00 s", "      /srv/" + strings.Repeat("x", 60) + ".md", "", // the spinner's
		"      waits: a dialog is open in agent 12's pane: answer it with", "      `understudy agent attach 12 --data /srv/d`",
	}; len(got) != len(want) || got[0] != want[0] || got[1] != want[1] || got[3] != want[3] || got[4] != want[4] {
		t.Errorf("shows %q\nwant %q", got, want)
	}
	p.clear()
	if got := seen(screen.String()); !strings.HasSuffix(got, ".md\n") {
		t.Errorf("after it: %q", got)
	}
}

func TestProgressAfterARetry(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	p := &progress{ui: &ui{out: &out}}
	p.phase(daemon.Transition{From: daemon.Failed, To: daemon.Verifying}, &daemon.Handoff{}, time.Second)
	p.phase(daemon.Transition{From: daemon.Verifying, To: daemon.Instructing, Cause: "retry: document_missing"}, &daemon.Handoff{}, time.Second)
	if want := "  ↻ retried: verifying\n  ✗ verifying                 1.00 s  retry: document_missing\n"; out.String() != want {
		t.Errorf("got:\n%swant:\n%s", out.String(), want)
	}
}

func TestUITable(t *testing.T) {
	t.Parallel()
	rows := func() [][]string {
		return [][]string{{"1", "/srv/me/app"}, {"2", "/srv/men/" + strings.Repeat("long ", 20)}}
	}
	var terminal, pipe bytes.Buffer
	for b, on := range map[*bytes.Buffer]bool{&terminal: true, &pipe: false} {
		if err := (&ui{out: b, terminal: on, home: "/srv/me"}).table([]string{"ID", "DIRECTORY"}, rows()); err != nil {
			t.Fatal(err)
		}
	}
	lines := strings.Split(terminal.String(), "\n")
	if len(lines) != 4 || strings.TrimRight(lines[1], " ") != "1   ~/app" || len([]rune(lines[2])) > 80 || !strings.HasPrefix(lines[2], "2   /srv/men/") || !strings.HasSuffix(lines[2], "…") {
		t.Errorf("on a terminal:\n%s", &terminal)
	}
	if !strings.Contains(pipe.String(), "1   /srv/me/app\n") || strings.Contains(pipe.String(), "…") {
		t.Errorf("in a pipe:\n%s", &pipe)
	}
}

func TestUICommandsNameTheDataDirectory(t *testing.T) {
	t.Parallel()
	const said = "open it with `understudy agent resume 7`, or `tmux -V`"
	if got := (&app{getenv: noEnv}).withData(said); got != said {
		t.Errorf("without --data: %s", got)
	}
	want := "open it with `understudy agent resume 7 --data '/my data'`, or `tmux -V`"
	a := &app{getenv: noEnv, dataFlag: "/my data"}
	if got := a.withData(a.withData(said)); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestUIEndWords(t *testing.T) {
	t.Parallel()
	for reason, want := range map[string]string{
		"prompt_input_exit": "exited by /exit", "process_gone": "its process is gone", "tmux_server_gone": "its tmux server is gone",
		"its last words": "its last words",
	} {
		if got := endWords(&reason); got != want {
			t.Errorf("%s: %s", reason, got)
		}
	}
	if got := endWords(nil); got != "-" {
		t.Errorf("none: %s", got)
	}
}

func TestUIDeliveryNote(t *testing.T) {
	t.Parallel()
	queued := &daemon.Delivery{State: daemon.DeliveryQueued}
	for _, c := range []struct {
		d    *daemon.Delivery
		g    daemon.Agent
		want string
	}{
		{queued, daemon.Agent{ID: 12, State: daemon.Waiting, Note: "old"}, "a dialog is open in agent 12's pane: answer it with `understudy agent attach 12`"},
		{queued, daemon.Agent{ID: 12, State: daemon.Working}, "agent 12 is in a turn; it gets the text when that ends"},
		{queued, daemon.Agent{ID: 12, State: daemon.Starting, Note: "it did not register"}, "it did not register"},
		{queued, daemon.Agent{ID: 12, State: daemon.Idle, Note: "its composer holds a draft"}, "its composer holds a draft"},
		{&daemon.Delivery{State: daemon.DeliveryTyping}, daemon.Agent{State: daemon.Working}, ""},
	} {
		if got := deliveryNote(c.d, &c.g); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}
