package tmuxtest

import (
	"strings"
	"sync"
	"testing"

	"github.com/understudyd/understudy/tmux"
)

func changedPane(t *testing.T, s suite) {
	pane := s.cat(t, "a")
	s.mustPaste(t, pane.Ref, "❯\u00a0it's #{pid}, {b} $(c); d%5 ❯")
	s.waitScreen(t, pane.Ref, "d%5 ❯\n❯")
	view, err := s.Look(t.Context(), pane.Ref)
	if err != nil || view.Command == "" || !strings.HasPrefix(view.Screen, "ready\nready\n❯") {
		t.Fatalf("look: %+v, %v", view, err)
	}
	good := tmux.Sight{Command: view.Command, Row: "❯\u00a0it's #{pid}, {b} $(c); d%5 ❯"}
	for what, seen := range map[string]tmux.Sight{
		"nothing": {}, "the command": {Command: view.Command}, "the row": {Row: good.Row}, "both": good, "a plain row": {Row: "ready"},
	} {
		if err := s.Press(t.Context(), pane.Ref, seen, tmux.CtrlU); err != nil {
			t.Errorf("%s is as it was: %v", what, err)
		}
	}
	for what, seen := range map[string]tmux.Sight{
		"another command":            {Command: "bash", Row: good.Row},
		"the command's beginning":    {Command: view.Command[:len(view.Command)-1]},
		"a row that is not there":    {Command: view.Command, Row: "❯\u00a0"},
		"the beginning of a row":     {Row: "read"},
		"the end of a row":           {Row: "eady"},
		"a row with more before it":  {Row: "x" + good.Row},
		"a row of the history alone": {Row: "readyready"},
	} {
		wantErr(t, what+": keys", s.Press(t.Context(), pane.Ref, seen, tmux.CtrlD), tmux.ErrChanged)
		err := s.Paste(t.Context(), pane.Ref, "wrong", tmux.PasteOptions{If: seen, Once: "delivery-1", After: []tmux.Key{tmux.CtrlD}})
		wantErr(t, what+": paste", err, tmux.ErrChanged)
	}
	once := tmux.PasteOptions{If: good, Once: "delivery-1", After: []tmux.Key{tmux.Enter}}
	must(t, s.Paste(t.Context(), pane.Ref, "right", once)) // the token was not noted above
	if screen := s.waitScreen(t, pane.Ref, "right\nright"); strings.Contains(screen, "wrong") {
		t.Errorf("something was typed before: %q", screen)
	}
	once.If.Command = "bash"
	wantErr(t, "typed before, and changed", s.Paste(t.Context(), pane.Ref, "right", once), tmux.ErrOnce)
	for what, ref := range strangers(pane.Ref) {
		_, err := s.Look(t.Context(), ref)
		wantErr(t, what+": look", err, tmux.ErrGone)
		wantErr(t, what+": press", s.Press(t.Context(), ref, good, tmux.CtrlD), tmux.ErrGone)
	}
}

// looksAtOnce: each of many looks and lists at the same time gets the answer to its own question.
func looksAtOnce(t *testing.T, s suite) {
	panes := map[string]tmux.Ref{"a": s.cat(t, "a").Ref, "b": s.cat(t, "b").Ref}
	for name, ref := range panes {
		s.mustPaste(t, ref, "I am "+name)
		s.waitScreen(t, ref, "I am "+name)
	}
	var all sync.WaitGroup
	for range 10 {
		for name, ref := range panes {
			all.Go(func() {
				view, err := s.Look(t.Context(), ref)
				if err != nil || view.Command == "" || !strings.Contains(view.Screen, "I am "+name) {
					t.Errorf("look at %s: %+v, %v", name, view, err)
				}
			})
			for what, ref := range strangers(ref) {
				all.Go(func() {
					_, err := s.Look(t.Context(), ref)
					wantErr(t, what+": look", err, tmux.ErrGone)
				})
			}
			all.Go(func() {
				if list, err := s.List(t.Context()); err != nil || len(list) != len(panes) {
					t.Errorf("list: %+v, %v", list, err)
				}
			})
		}
	}
	all.Wait()
}

// typedAsKeys: a text arrives as it is, whatever tmux would make of it, and never in another pane.
func typedAsKeys(t *testing.T, s suite) {
	pane := s.cat(t, "typed")
	all := ""
	for _, text := range []string{"Enter", " rm x;", ";", "'q' \"d\" $HOME ~ #{pid} \\", "%1", "-l", "für 日本 ❯", "C-c"} {
		must(t, s.Type(t.Context(), pane.Ref, tmux.Sight{}, text))
		all += text
		s.waitScreen(t, pane.Ref, all)
	}
	for what, text := range map[string]string{
		"nothing": "", "a line break": "a\nb", "a tab": "\t", "an escape": "\x1b[201~", "too much": strings.Repeat("x", tmux.MaxTyped+1), "no UTF-8": "\xff",
	} {
		if err := s.Type(t.Context(), pane.Ref, tmux.Sight{}, text); err == nil {
			t.Errorf("%s was typed", what)
		}
	}
	for what, ref := range strangers(pane.Ref) {
		wantErr(t, what, s.Type(t.Context(), ref, tmux.Sight{}, "wrong"), tmux.ErrGone)
	}
	must(t, s.Keys(t.Context(), pane.Ref, tmux.CtrlU, tmux.CtrlD))
	s.waitDead(t, pane.Ref)
	wantErr(t, "a dead pane", s.Type(t.Context(), pane.Ref, tmux.Sight{}, "wrong"), tmux.ErrDead)
}
