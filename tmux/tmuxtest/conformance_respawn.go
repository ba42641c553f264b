package tmuxtest

import (
	"strings"
	"testing"

	"github.com/understudyd/understudy/tmux"
)

// gone is a pane whose program has ended.
func (s suite) gone(t *testing.T, session string) tmux.PaneInfo {
	t.Helper()
	pane := s.cat(t, session)
	must(t, s.Keys(t.Context(), pane.Ref, tmux.CtrlD))
	return s.waitDead(t, pane.Ref)
}

func next(session string) tmux.Spec {
	return tmux.Spec{Session: session, Mark: "mark-" + session, Dir: "/", Argv: []string{"sh", "-c", "cat; exit 0"}}
}

func takenOnce(t *testing.T, s suite) {
	living, dead := s.cat(t, "living"), s.gone(t, "dead")
	at := tmux.Place{Ref: living.Ref, Mark: living.Mark}
	_, err := s.Respawn(t.Context(), at, next("x"))
	wantErr(t, "a program runs", err, tmux.ErrChanged)
	at = tmux.Place{Ref: dead.Ref, Mark: "mark-other"}
	_, err = s.Respawn(t.Context(), at, next("x"))
	wantErr(t, "another mark", err, tmux.ErrChanged)
	at.Mark = dead.Mark
	spec := next("heir")
	spec.Dir = "/no/such/place"
	if _, err = s.Respawn(t.Context(), at, spec); err == nil {
		t.Error("a program was started in a directory that is not there")
	}
	pane, err := s.Respawn(t.Context(), at, next("heir"))
	must(t, err)
	if pane.Ref != dead.Ref || pane.Mark != "mark-heir" || pane.Session != "heir" || pane.Dead || pane.PID == dead.PID {
		t.Errorf("got %+v after %+v", pane, dead)
	}
	s.mustPaste(t, pane.Ref, "here")
	if screen := s.waitScreen(t, pane.Ref, "here\nhere"); strings.Contains(screen, "ready") {
		t.Errorf("the screen of before is there: %q", screen)
	}
	_, err = s.Respawn(t.Context(), at, next("y"))
	wantErr(t, "taken", err, tmux.ErrChanged)
	if panes, err := s.List(t.Context()); err != nil || len(panes) != 2 {
		t.Errorf("%d panes, %v", len(panes), err)
	}
	nowhere := at
	nowhere.Ref.Pane = "%77"
	_, err = s.Respawn(t.Context(), nowhere, next("y"))
	wantErr(t, "no pane", err, tmux.ErrGone)
	nowhere = at
	nowhere.Ref.ServerStart++
	_, err = s.Respawn(t.Context(), nowhere, next("y"))
	wantErr(t, "of another server", err, tmux.ErrGone)
}

func closedPlace(t *testing.T, s suite) {
	pane := s.cat(t, "a")
	at := tmux.Place{Ref: pane.Ref, Mark: pane.Mark, Close: true}
	_, err := s.Respawn(t.Context(), at, next("x"))
	wantErr(t, "a program runs", err, tmux.ErrChanged)
	must(t, s.Keys(t.Context(), pane.Ref, tmux.CtrlD))
	s.waitDead(t, pane.Ref)
	at.Close = false
	_, err = s.Respawn(t.Context(), at, next("x"))
	wantErr(t, "a closed place", err, tmux.ErrChanged)

	dead := s.gone(t, "b")
	at = tmux.Place{Ref: dead.Ref, Mark: dead.Mark, Close: true}
	if got, err := s.Respawn(t.Context(), at, next("heir")); err != nil || got.Mark != "mark-heir" {
		t.Errorf("a place that is taken or else closed: %+v, %v", got, err)
	}
}

// successorLeftAlone: what was meant for the program of before, by its mark, neither reaches nor ends the program that has taken
// its pane.
func successorLeftAlone(t *testing.T, s suite) {
	old := s.gone(t, "old")
	before := tmux.Sight{Mark: old.Mark}
	wantErr(t, "dead", s.Press(t.Context(), old.Ref, before, tmux.CtrlD), tmux.ErrDead)
	heir, err := s.Respawn(t.Context(), tmux.Place{Ref: old.Ref, Mark: old.Mark}, next("heir"))
	must(t, err)
	wantErr(t, "press", s.Press(t.Context(), old.Ref, before, tmux.CtrlD), tmux.ErrGone)
	wantErr(t, "type", s.Type(t.Context(), old.Ref, before, "wrong"), tmux.ErrGone)
	wantErr(t, "paste", s.Paste(t.Context(), old.Ref, "wrong", tmux.PasteOptions{If: before, Once: "wrong", After: []tmux.Key{tmux.CtrlD}}), tmux.ErrGone)
	if err := s.KillMarked(t.Context(), old.Ref, old.Mark); err != nil {
		t.Errorf("kill: %v", err)
	}
	for _, mark := range []string{"", "a,b}"} {
		if s.Press(t.Context(), old.Ref, tmux.Sight{Mark: mark}, tmux.CtrlU) != nil == (mark == "") || mark == "" && s.KillMarked(t.Context(), old.Ref, mark) == nil {
			t.Errorf("the mark %q", mark)
		}
	}
	now := tmux.PasteOptions{If: tmux.Sight{Mark: heir.Mark}, Once: "wrong"} // the token was not noted above
	must(t, s.Paste(t.Context(), heir.Ref, "right", now))
	must(t, s.Type(t.Context(), heir.Ref, now.If, " and"))
	must(t, s.Press(t.Context(), heir.Ref, now.If, tmux.Enter))
	if screen := s.waitScreen(t, heir.Ref, "right and\nright and"); strings.Contains(screen, "wrong") {
		t.Errorf("something was typed before: %q", screen)
	}
	must(t, s.KillMarked(t.Context(), heir.Ref, heir.Mark))
	_, err = s.Inspect(t.Context(), heir.Ref)
	wantErr(t, "killed", err, tmux.ErrGone)
}
