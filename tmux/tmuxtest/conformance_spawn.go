package tmuxtest

import (
	"strings"
	"testing"

	"github.com/understudyd/understudy/tmux"
)

func spawned(t *testing.T, s suite) {
	if panes, err := s.List(t.Context()); err != nil || len(panes) != 0 {
		t.Fatalf("before: got %v, %v, want no panes", panes, err)
	}
	pane := s.catOf(t, tmux.Spec{Session: "one", Mark: "launch 7;", Width: 90, Height: 20})
	if pane.Mark != "launch 7;" || pane.Session != "one" || pane.Dead || pane.Width != 90 || pane.Height != 20 || pane.PID == 0 {
		t.Errorf("got %+v", pane)
	}
	other := s.cat(t, "two")
	if other.Pane == pane.Pane || other.Width != 200 || other.Height != 50 {
		t.Errorf("the second is %+v", other)
	}
	panes, err := s.List(t.Context())
	if err != nil || len(panes) != 2 {
		t.Fatalf("got %d panes, %v, want 2", len(panes), err)
	}
	for _, p := range panes {
		if p.Ref != pane.Ref && p.Ref != other.Ref {
			t.Errorf("a third pane: %+v", p)
		}
		if p.Ref == pane.Ref && p.Mark != "launch 7;" {
			t.Errorf("mark %q", p.Mark)
		}
	}
	incomplete := pane.Ref
	incomplete.ServerStart = 0
	if got, err := s.Inspect(t.Context(), incomplete); err != nil || got.Ref != pane.Ref {
		t.Errorf("a reference without start time: got %v, %v, want %v", got.Ref, err, pane.Ref)
	}
}

func nameTaken(t *testing.T, s suite) {
	first := s.cat(t, "agent-1")
	_, err := s.Spawn(t.Context(), tmux.Spec{Session: "agent-1", Dir: "/", Argv: []string{"cat"}, Mark: "other"})
	wantErr(t, "the same name", err, tmux.ErrExists)
	s.cat(t, "agent-10")
	s.cat(t, "agent")
	if got, err := s.Inspect(t.Context(), first.Ref); err != nil || got.Mark != "mark-agent-1" {
		t.Errorf("the first one is %+v, %v", got, err)
	}
}

func spawnRefused(t *testing.T, s suite) {
	good := tmux.Spec{Session: "x", Dir: "/", Argv: []string{"cat"}}
	for what, spoil := range map[string]func(*tmux.Spec){
		"no name":                func(s *tmux.Spec) { s.Session = "" },
		"a name with a format":   func(s *tmux.Spec) { s.Session = "x#(id)" },
		"a name with a dash":     func(s *tmux.Spec) { s.Session = "-x" },
		"a name with a dot":      func(s *tmux.Spec) { s.Session = "a.b" },
		"a missing directory":    func(s *tmux.Spec) { s.Dir = "/no/such/place" },
		"a relative directory":   func(s *tmux.Spec) { s.Dir = "tmp" },
		"a file as directory":    func(s *tmux.Spec) { s.Dir = "/etc/passwd" },
		"no program":             func(s *tmux.Spec) { s.Argv = nil },
		"a missing program":      func(s *tmux.Spec) { s.Argv = []string{"/no/such/program", "x"} },
		"a program not in PATH":  func(s *tmux.Spec) { s.Argv = []string{"no-such-program-at-all", "x"} },
		"a relative program":     func(s *tmux.Spec) { s.Argv = []string{"./cat", "x"} },
		"a NUL in an argument":   func(s *tmux.Spec) { s.Argv = []string{"cat", "a\x00b"} },
		"a mark of two lines":    func(s *tmux.Spec) { s.Mark = "a\nb" },
		"a negative width":       func(s *tmux.Spec) { s.Width = -1 },
		"an argument too long":   func(s *tmux.Spec) { s.Argv = []string{"cat", strings.Repeat("x", 20000)} },
		"a program that is none": func(s *tmux.Spec) { s.Argv = []string{"/etc/passwd", "x"} },
	} {
		spec := good
		spoil(&spec)
		if _, err := s.Spawn(t.Context(), spec); err == nil {
			t.Errorf("%s: no error", what)
		}
	}
	if panes, err := s.List(t.Context()); err != nil || len(panes) != 0 {
		t.Errorf("got %v, %v, want no panes", panes, err)
	}
}
