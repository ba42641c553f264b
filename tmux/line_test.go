package tmux_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/understudyd/understudy/tmux"
	"github.com/understudyd/understudy/tmux/tmuxtest"
)

// shownBy attaches a client of width columns to a session, inside another tmux server, and returns what it shows.
func shownBy(t *testing.T, socket, session string, width int, environ ...string) (lines func() []string) {
	t.Helper()
	outer := tmuxtest.Server(t)
	pane := made(t, outer, tmux.Spec{
		Session: "outer", Dir: "/", Width: width, Height: 12,
		Argv: slices.Concat([]string{"env", "-u", "TMUX"}, environ, []string{"tmux", "-u", "-N", "-S", socket, "attach-session", "-f", tmux.LookingFlags, "-t", "=" + session}),
	})
	return func() []string {
		shown := value(outer.Capture(t.Context(), 0, false, pane.Ref))(t)
		return strings.Split(shown[pane.Pane], "\n")
	}
}

// TestLineOfThePaneThatSomebodyLooksAt: the status line says who runs in the pane. Texts of agents are shown as they are and run
// nothing, and a pane at which nobody looks is left alone.
func TestLineOfThePaneThatSomebodyLooksAt(t *testing.T) {
	t.Parallel()
	s := tmuxtest.Server(t)
	a, b := spawn(t, s, "a"), spawn(t, s, "b")
	mark := filepath.Join(t.TempDir(), "mark")
	hostile := tmux.Line{Ref: a.Ref, Who: "7 x#(touch " + mark + ");", State: "asks #[fg=red]#{pid} %H\nagain", Tone: tmux.Calls}
	other := tmux.Line{Ref: b.Ref, Who: "8 y", State: "idle"}
	equal(t, "nobody is attached", len(value(s.ShowLines(t.Context(), []tmux.Line{hostile, other}))(t)), 0)
	if shown, err := s.ShowLines(t.Context(), []tmux.Line{hostile, other}, b.Ref); err != nil || len(shown) != 1 || shown[0] != other {
		t.Errorf("for a pane that somebody is about to look at: %v, %v", shown, err)
	}
	wide := shownBy(t, a.Socket, "a", 190)
	tmuxtest.Eventually(t, "the line of a pane that is looked at", func() bool {
		shown, err := s.ShowLines(t.Context(), []tmux.Line{hostile, other})
		return err == nil && len(shown) == 1 && shown[0] == hostile
	})
	want := " 7 x#(touch " + mark + ");   asks #[fg=red]#{pid} %H again"
	tmuxtest.Eventually(t, "the line", func() bool {
		lines := wide()
		last := lines[len(lines)-1]
		return strings.HasPrefix(last, want) && strings.HasSuffix(last, "C-b (C-b) d leaves") // it is attached in another tmux
	})
	failed(os.Stat(mark))(t, "a command in the name of an agent was run")
	narrow := shownBy(t, b.Socket, "b", 60, "TERM=xterm-256color")
	tmuxtest.Eventually(t, "how to leave", func() bool {
		_, err := s.ShowLines(t.Context(), []tmux.Line{{Ref: b.Ref, Who: "8 y", State: strings.Repeat("long ", 30)}})
		lines := narrow()
		last := lines[len(lines)-1]
		return err == nil && strings.Contains(last, "8 y") && strings.Contains(last, "long") && strings.HasSuffix(last, "C-b d leaves")
	})
	gone := b.Ref
	gone.Pane = "%77"
	equal(t, "with a pane that is gone", len(value(s.ShowLines(t.Context(), []tmux.Line{{Ref: gone}, hostile}, gone))(t)), 1)
}

// TestSay: what is said in a person's pane can be read as an option of the pane, and only who has said it takes it back.
func TestSay(t *testing.T) {
	t.Parallel()
	s := tmuxtest.Server(t)
	theirs := tmuxtest.Server(t)
	pane := spawn(t, theirs, "theirs").Ref
	says := func() string {
		t.Helper()
		return strings.TrimSuffix(command(t, pane.Socket, "display-message", "-p", "-t", pane.Pane, "#{"+tmux.SaysOption+"}"), "\n")
	}
	must(t, s.Say(t.Context(), pane, 8, "agent 8 goes on: attach #(id);"))
	equal(t, "the pane says", says(), "agent 8 goes on: attach ##(id);")
	if err := s.Unsay(t.Context(), pane, 7); err != nil || says() == "" {
		t.Errorf("another has taken it back: %v", err)
	}
	if err := s.Unsay(t.Context(), pane, 8); err != nil || says() != "" {
		t.Errorf("the pane says %q, %v", says(), err)
	}
	must(t, s.Say(t.Context(), pane, 9, "agent 9"))
	if err := s.Unsay(t.Context(), pane, 0); err != nil || says() != "" {
		t.Errorf("the pane says %q, %v", says(), err)
	}
	for _, gone := range []tmux.Ref{{Socket: pane.Socket, ServerPID: pane.ServerPID, ServerStart: pane.ServerStart, Pane: "%77"}, {Socket: pane.Socket, ServerPID: os.Getpid(), ServerStart: 1, Pane: pane.Pane}} {
		wantErr(t, fmt.Sprintf("said at %s", gone), s.Say(t.Context(), gone, 8, "x"))
		if err := s.Unsay(t.Context(), gone, 0); err != nil {
			t.Errorf("unsaid at %s: %v", gone, err)
		}
	}
}
