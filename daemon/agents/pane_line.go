package agents

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/views"
	"github.com/understudyd/understudy/daemon/words"
	"github.com/understudyd/understudy/tmux"
)

// linesAgain is how long the lines of panes may be wrong for people who attach without our command: they are noted only on
// panes that somebody looks at.
const linesAgain = 5 * time.Second

// paneLine returns what the status line of our own tmux server says about an agent.
func paneLine(a *daemon.Agent) tmux.Line {
	who := fmt.Sprintf("%d %s", a.ID, words.Clip(words.Line(a.Name), 32))
	if a.Persona != nil && *a.Persona != a.Name {
		who += " · " + words.Clip(*a.Persona, 32)
	}
	if a.Generation > 1 {
		who += fmt.Sprintf(" · generation %d", a.Generation)
	}
	state, tone := paneState(a)
	return tmux.Line{Ref: a.Ref(), Who: who, State: words.Clip(words.Line(state), daemon.MaxWaitsFor), Tone: tone}
}

// paneState says what an agent does, to those who look at its pane.
func paneState(a *daemon.Agent) (string, tmux.Tone) {
	switch {
	case a.StopAskedAt != nil:
		return "is being ended", tmux.Calls
	case a.State == daemon.Waiting:
		return words.Join(": ", "waits for you", cmp.Or(a.WaitsFor, a.Hold.Words())), tmux.Calls
	case a.State == daemon.Limited && a.Limit != nil:
		return views.HasHit(a.Limit), tmux.Calls
	case a.InTrouble() != nil:
		return "in trouble: " + a.InTrouble().Words(), tmux.Calls
	case a.HandingOver:
		return "writes its handoff document", tmux.Working
	case a.State == daemon.Working:
		return "works", tmux.Working
	case a.State == daemon.Idle && a.Unread:
		return "has finished", tmux.Plain
	case a.State == daemon.Starting && a.Hold != nil:
		return a.Hold.Words(), tmux.Calls
	}
	return string(a.State), tmux.Plain
}

// ShowLines keeps the lines of the panes current at which somebody looks. It runs tmux only if a line has changed, or if one
// could not be noted because nobody looked. The sweep calls it, with the active agents.
func (d *Supervisor) ShowLines(ctx context.Context, agents []daemon.Agent) {
	var pending []tmux.Line
	byRef := map[tmux.Ref]int64{}
	due := false
	now := time.Now()
	for i := range agents {
		a := &agents[i]
		if !a.Managed || !a.HasPane() {
			continue
		}
		line := paneLine(a)
		d.memories.Change(a.ID, func(m *supervisorMemory) {
			if m.lineShown == line {
				return
			}
			if m.lineTried != line || now.Sub(m.lineAt) >= linesAgain {
				due = true
			}
			pending = append(pending, line)
			byRef[line.Ref] = a.ID
		})
	}
	if !due {
		return
	}
	for _, line := range pending {
		d.memories.Change(byRef[line.Ref], func(m *supervisorMemory) { m.lineTried, m.lineAt = line, now })
	}
	term, err := d.OwnTerminal()
	if err != nil {
		return
	}
	shown, err := term.ShowLines(ctx, pending)
	if err != nil && ctx.Err() == nil {
		d.Log.Debug("lines of panes not noted", "error", err)
	}
	for _, line := range shown {
		d.memories.Change(byRef[line.Ref], func(m *supervisorMemory) { m.lineShown = line })
	}
}

// readyLine notes the line of an agent's pane, at which somebody is about to look.
func (d *Supervisor) readyLine(ctx context.Context, a *daemon.Agent) {
	line := paneLine(a)
	if !a.Managed || d.memories.Of(a.ID).lineShown == line {
		return
	}
	term, err := d.OwnTerminal()
	if err != nil {
		return
	}
	shown, err := term.ShowLines(ctx, []tmux.Line{line}, line.Ref)
	if err != nil && ctx.Err() == nil {
		d.Log.Debug("line of a pane not noted", "agent_id", a.ID, "error", err)
	}
	if len(shown) > 0 {
		d.memories.Change(a.ID, func(m *supervisorMemory) { m.lineShown = line })
	}
}
