package term

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/understudyd/understudy/cmd/internal/cmdtest"
	"github.com/understudyd/understudy/daemon/fit"
)

func TestWhatAgentsWroteCannotSteerTheTerminal(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	u := &UI{Out: &b}
	u.Block("one\x1b]0;title\a\ntwo\n")
	must(t, u.Table([]string{"NAME"}, [][]string{{"x\x1b[31m\ty"}}))
	u.Fields("name", "\x1b[31mred", "empty", "")
	if strings.ContainsAny(b.String(), "\x1b\a") || strings.Contains(b.String(), "empty") {
		t.Errorf("printed %q", b.String())
	}
}

// A command can be copied from a terminal of any width; what is no command is broken.
func TestFold(t *testing.T) {
	t.Parallel()
	u := &UI{Terminal: true}
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
		equal(t, c.in, u.Fold(c.in, 60), c.want)
		equal(t, "in a pipe", (&UI{}).Fold(c.in, 60), []string{c.in})
	}
}

func TestBlockAt80Columns(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	u := &UI{Out: &b, Terminal: true}
	u.Block("# Head\n\n  - " + strings.Repeat("words ", 14) + "\n    x := 1\n")
	want := "  │ # Head\n  │ \n  │   - " + strings.TrimSpace(strings.Repeat("words ", 12)) + "\n  │   words words\n  │     x := 1\n"
	equal(t, "printed", b.String(), want)
}

// A line that is taken back must not be wider than the terminal, whatever it names.
func TestProgressTakesBackLongCommands(t *testing.T) {
	t.Parallel()
	var screen bytes.Buffer
	p := &Progress{UI: &UI{Out: &screen, Terminal: true}}
	p.Start("delivery 5", time.Now())
	p.Wait("answer it with `understudy agent attach 12 --data /srv/" + strings.Repeat("x", 40) + " --and --more --of --that`")
	if p.drawn != 4 || strings.Contains(screen.String(), "…") {
		t.Errorf("%d lines: %q", p.drawn, screen.String())
	}
}

func TestProgress(t *testing.T) {
	t.Parallel()
	story := func(p *Progress) {
		synctest.Test(t, func(*testing.T) {
			p.Start("instructing", time.Now())
			p.Draw()
			p.Wait("the agent is in a turn")
			time.Sleep(2 * patience)
			p.Draw()
			p.Draw()
			p.Done("instructing", 1500*time.Millisecond, "agent 1 took the instruction")
			p.Failed("verifying", time.Second, "failed")
		})
	}
	const lines = `  ✓ instructing                 1.50 s  agent 1 took the instruction
  ✗ verifying                   1.00 s  failed
`
	var pipe bytes.Buffer
	story(&Progress{UI: &UI{Out: &pipe}})
	equal(t, "in a pipe", pipe.String(), "  … instructing                         waits: the agent is in a turn\n"+lines)

	// What was drawn and taken back is not there to be seen.
	var screen bytes.Buffer
	story(&Progress{UI: &UI{Out: &screen, Terminal: true}})
	if !strings.Contains(screen.String(), "⠙ instructing") && !strings.Contains(screen.String(), "⠹ instructing") {
		t.Errorf("no spinner in %q", screen.String())
	}
	equal(t, "on a terminal", cmdtest.Seen(screen.String()), lines)
}

func TestProgressAt80Columns(t *testing.T) {
	t.Parallel()
	var screen bytes.Buffer
	withData := func(said string) string { return strings.Replace(said, "attach 12", "attach 12 --data /srv/d", 1) }
	p := &Progress{UI: &UI{Out: &screen, Terminal: true, WithData: withData}}
	p.Done("verifying", time.Second, "/srv/"+strings.Repeat("x", 60)+".md")
	p.Start("delivery 5", time.Now())
	p.Wait("a dialog is open in agent 12's pane: answer it with `understudy agent attach 12`")
	got := strings.Split(cmdtest.Seen(screen.String()), "\n")
	if want := []string{
		"  ✓ verifying                   1.00 s", "      /srv/" + strings.Repeat("x", 60) + ".md", "", // the spinner's
		"      waits: a dialog is open in agent 12's pane: answer it with", "      `understudy agent attach 12 --data /srv/d`",
	}; len(got) != len(want) || got[0] != want[0] || got[1] != want[1] || got[3] != want[3] || got[4] != want[4] {
		t.Errorf("shows %q\nwant %q", got, want)
	}
	p.Clear()
	if got := cmdtest.Seen(screen.String()); !strings.HasSuffix(got, ".md\n") {
		t.Errorf("after it: %q", got)
	}
}

func TestUITable(t *testing.T) {
	t.Parallel()
	rows := func() [][]string {
		return [][]string{{"1", "/srv/me/app"}, {"2", "/srv/men/" + strings.Repeat("long ", 20)}}
	}
	var terminal, pipe bytes.Buffer
	for b, on := range map[*bytes.Buffer]bool{&terminal: true, &pipe: false} {
		must(t, (&UI{Out: b, Terminal: on, Home: "/srv/me"}).Table([]string{"ID", "DIRECTORY"}, rows()))
	}
	lines := strings.Split(terminal.String(), "\n")
	if len(lines) != 4 || strings.TrimRight(lines[1], " ") != "1   ~/app" || len([]rune(lines[2])) > 80 || !strings.HasPrefix(lines[2], "2   /srv/men/") || !strings.HasSuffix(lines[2], "…") {
		t.Errorf("on a terminal:\n%s", &terminal)
	}
	if !strings.Contains(pipe.String(), "1   /srv/me/app\n") || strings.Contains(pipe.String(), "…") {
		t.Errorf("in a pipe:\n%s", &pipe)
	}
}

// A name in Chinese, an emoji or accents do not shift what stands to their right.
func TestColumnsAlign(t *testing.T) {
	t.Parallel()
	names := []string{"developer-con-1", "开发者", "🚀 rocket", "e\u0301le\u0300ve", "नमस्ते", "👩‍💻👍🏽", "개발자-한글-이름"}
	rows := func() (rows [][]string) {
		for _, name := range names {
			rows = append(rows, []string{name, "¦ right"})
		}
		return rows
	}
	var table bytes.Buffer
	must(t, (&UI{Out: &table}).Table([]string{"NAME", "¦ R"}, rows()))
	grid := func(width int) []string {
		return Grid([]Column{{Title: "NAME", Least: 4, Most: 12}, {Title: "¦ R"}}, rows(), width)
	}
	for what, lines := range map[string][]string{"table": strings.Split(strings.TrimSpace(table.String()), "\n"), "grid": grid(0), "narrow grid": grid(18)} {
		equal(t, what+": lines", len(lines), len(names)+1)
		for _, line := range lines {
			before, _, _ := strings.Cut(line, "¦")
			first, _, _ := strings.Cut(lines[0], "¦")
			equal(t, what+": the second column of "+line+" begins at", fit.Width(before), len(first))
		}
	}
}
