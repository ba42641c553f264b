package main

import (
	"bytes"
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
	if got, want := printable("a\x1b[2Jb\r\nc\td\u009be\u007f"), "a[2Jb c de"; got != want {
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
	const takeBack = "\r\x1b[K"
	if !strings.Contains(screen.String(), "⠙ instructing") && !strings.Contains(screen.String(), "⠹ instructing") {
		t.Errorf("no spinner in %q", screen.String())
	}
	var seen strings.Builder
	for line := range strings.Lines(screen.String()) {
		if i := strings.LastIndex(line, takeBack); i >= 0 {
			line = line[i+len(takeBack):]
		}
		seen.WriteString(line)
	}
	if seen.String() != lines {
		t.Errorf("on a terminal:\n%s\nwant:\n%s", seen.String(), lines)
	}
}
