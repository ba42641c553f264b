package sight

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/tmux"
	"github.com/understudyd/understudy/tmux/tmuxtest"
	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

// infront is a process table in which every process reads its terminal, or none does.
type infront struct {
	engine.Processes
	is bool
}

func (f infront) Standing(tmux.Process) engine.Standing { return engine.Standing{InFront: f.is} }

// limitScreen is Gemini CLI's question about a usage limit, with an answer chosen.
func limitScreen(chosen int) string {
	signs := [2]string{" ", " "}
	signs[chosen] = "●"
	return fmt.Sprintf("╭──────────────────────────╮\n│ Usage limit reached for gemini-3-pro. │\n│ %s 1. Keep trying   │\n│ %s 2. Stop   │\n╰──────────────────────────╯",
		signs[0], signs[1])
}

// agentInPane returns a working agent of Gemini CLI in a pane.
func agentInPane(ref tmux.Ref) *daemon.Agent {
	return &daemon.Agent{
		ID: 1, Runtime: "gemini",
		AgentPane: daemon.AgentPane{PID: 4711,
			Pane: &ref.Pane, PaneSocket: ref.Socket, PaneServerPID: ref.ServerPID, PaneServerStart: ref.ServerStart}, State: daemon.Working,
	}
}

// The daemon answers the question about a usage limit with Stop, one key at a look, and never with what asks the API again.
func TestLeaveLimit(t *testing.T) {
	t.Parallel()
	const composer = "────────────────────────\n\n\n >   Type your message or @path/to/file\n\n workspace (/directory)      /model\n /work      Auto"
	down, enter := tmuxtest.Input{Key: tmux.Down}, tmuxtest.Input{Key: tmux.Enter}
	tests := []struct {
		name    string
		screens []string // one for each look
		behind  bool
		want    []tmuxtest.Input
		left    bool // the last look was at a dialog that the daemon is leaving
	}{
		{"keep trying is chosen", []string{limitScreen(0), limitScreen(1)}, false, []tmuxtest.Input{down, enter}, true},
		{"stop is chosen already", []string{limitScreen(1)}, false, []tmuxtest.Input{enter}, true},
		{"no dialog", []string{composer}, false, nil, false},
		{"another program reads the terminal", []string{limitScreen(1)}, true, nil, false},
		{"a dialog that takes no keys", slices.Repeat([]string{limitScreen(0)}, maxLimitKeys+3), false, slices.Repeat([]tmuxtest.Input{down}, maxLimitKeys), false},
		{"a second dialog has all keys again", append(slices.Repeat([]string{limitScreen(0)}, maxLimitKeys+1), composer, limitScreen(1)), false,
			append(slices.Repeat([]tmuxtest.Input{down}, maxLimitKeys), enter), true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			term := tmuxtest.NewFake()
			pane := term.Add(tmux.PaneInfo{Session: "a", CurrentCommand: "node"})
			var typed []tmuxtest.Input
			term.OnInput = func(_ tmux.Ref, in tmuxtest.Input) { typed = append(typed, in) }
			d := testSight(engine.Config{
				Terminal:  func(string) (engine.Terminal, error) { return term, nil },
				Processes: infront{is: !tt.behind}, Log: slog.New(slog.DiscardHandler),
			})
			a := agentInPane(pane.Ref)
			left := false
			for _, screen := range tt.screens {
				term.SetScreen(pane.Ref, screen)
				s, err := d.ReadScreen(t.Context(), a)
				if err == nil {
					left, err = d.leaveLimit(t.Context(), a, s.Limit)
				}
				wardentest.Must(t, err)
			}
			if !slices.Equal(typed, tt.want) || left != tt.left {
				t.Errorf("typed %v, want %v; left %t, want %t", typed, tt.want, left, tt.left)
			}
		})
	}
}

// TestClaudesQuestionAtALimitIsLeft: Claude Code asks what to do about its limit. The daemon closes the question with the choice that is
// selected, unless a person has moved to another one.
func TestClaudesQuestionAtALimitIsLeft(t *testing.T) {
	t.Parallel()
	b := wardentest.Value(os.ReadFile("../runtimes/testdata/screens/limit_question.txt"))(t)
	question := string(b)
	moved := strings.NewReplacer("❯ 1.", "  1.", "  2.", "❯ 2.").Replace(question)
	for screen, want := range map[string][]tmuxtest.Input{question: {{Key: tmux.Enter}}, moved: nil} {
		term := tmuxtest.NewFake()
		pane := term.Add(tmux.PaneInfo{Session: "a", CurrentCommand: "claude"})
		d := testSight(engine.Config{
			Terminal: func(string) (engine.Terminal, error) { return term, nil }, Processes: infront{is: true}, Log: slog.New(slog.DiscardHandler),
		})
		a := agentInPane(pane.Ref)
		now := time.Now()
		a.Runtime, a.State, a.StateAt, a.RegisteredAt = "claude", daemon.Limited, now, &now
		term.SetScreen(pane.Ref, screen)
		d.memories.Change(a.ID, func(m *sightMemory) { m.sighting = sighting{Status: runtimes.StatusWaiting, Since: now, Known: true} })
		if !d.ScreenWatched(a) {
			t.Error("the question of an agent with a limit is not looked at")
		}
		wardentest.Must(t, d.WatchScreen(t.Context(), a, screen))
		equal(t, "typed", term.Inputs(pane.Ref), want)
	}
}

// changing is a terminal on which the dialog changes between the look and the key.
type changing struct {
	*tmuxtest.Fake
	to string
}

func (c changing) Press(ctx context.Context, ref tmux.Ref, seen tmux.Sight, keys ...tmux.Key) error {
	c.SetScreen(ref, c.to)
	return c.Fake.Press(ctx, ref, seen, keys...)
}

// A person chooses another answer between the look and the key: Enter would ask the API again, so it is not pressed.
func TestLeaveLimitOfAChangedDialog(t *testing.T) {
	t.Parallel()
	term := tmuxtest.NewFake()
	pane := term.Add(tmux.PaneInfo{Session: "a", CurrentCommand: "node"})
	term.SetScreen(pane.Ref, limitScreen(1))
	d := testSight(engine.Config{
		Terminal: func(string) (engine.Terminal, error) { return changing{term, limitScreen(0)}, nil }, Processes: infront{is: true},
		Log: slog.New(slog.DiscardHandler),
	})
	a := agentInPane(pane.Ref)
	if left, err := d.leaveLimit(t.Context(), a, true); err != nil || !left {
		t.Errorf("left %t, %v", left, err)
	}
	if typed := term.Inputs(pane.Ref); len(typed) > 0 {
		t.Errorf("typed %v", typed)
	}
}

// TestAnotherDialogFollows: a dialog that only the screen tells of takes the place of another one while the agent waits. Two looks must show
// it, and a hook that has told of a dialog meanwhile has named it.
func TestAnotherDialogFollows(t *testing.T) {
	t.Parallel()
	type look struct {
		dialog string
		hook   int64
	}
	for name, c := range map[string]struct {
		looks []look
		want  bool // after the last look
	}{
		"the same":               {[]look{{"run a command", 1}, {"run a command", 1}, {"run a command", 1}}, false},
		"another, one look":      {[]look{{"run a command", 1}, {"trust the folder", 1}}, false},
		"another":                {[]look{{"run a command", 1}, {"trust the folder", 1}, {"trust the folder", 1}}, true},
		"drawn in parts":         {[]look{{"run a command", 1}, {"trust", 1}, {"run a command", 1}, {"trust", 1}}, false},
		"none for a moment":      {[]look{{"run a command", 1}, {"", 1}, {"trust the folder", 1}, {"trust the folder", 1}}, true},
		"a hook has told of it":  {[]look{{"run a command", 1}, {"trust the folder", 2}, {"trust the folder", 2}}, false},
		"the report was applied": {[]look{{"run a command", 1}, {"trust the folder", 1}, {"trust the folder", 1}, {"trust the folder", 2}}, false},
	} {
		d, got := testSight(engine.Config{Host: "h", Log: slog.New(slog.DiscardHandler)}), false
		for _, l := range c.looks {
			got = anotherFollows(d, &daemon.Agent{ID: 3, State: daemon.Waiting, LastHook: l.hook}, l.dialog)
		}
		equal(t, name+": another follows", got, c.want)
	}
}
