package dialogs

import (
	"context"
	"sync"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/agents"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/sight"
	"github.com/understudyd/understudy/daemon/words"
)

// Dialog returns the dialog that an agent's pane shows now.
func (r *Room) Dialog(ctx context.Context, id int64) (sight.Dialog, error) {
	a, err := agents.InPane(ctx, r.env, id)
	if err != nil {
		return sight.Dialog{}, err
	}
	s, err := r.env.ReadDialog(ctx, &a)
	if err != nil {
		return sight.Dialog{}, err
	}
	if err := r.mayAnswerDialog(ctx, &a); err != nil {
		s.Why = words.TrimDot(err.Error())
	}
	return s.Dialog, nil
}

// maxDialogsAtOnce is how many dialogs are read for one page.
const maxDialogsAtOnce = 50

// Dialogs returns the dialogs of those agents that wait for a person and can be read here, by the agent's id. What cannot be
// read is left out.
func (r *Room) Dialogs(ctx context.Context, agents []*daemon.Agent) map[int64]*sight.Dialog {
	agents = agents[:min(len(agents), maxDialogsAtOnce)]
	read := make([]*sight.Dialog, len(agents))
	var all sync.WaitGroup
	for i, a := range agents {
		if a.State != daemon.Waiting || !a.HasPane() {
			continue
		}
		all.Go(func() {
			if s, err := r.Dialog(ctx, a.ID); err == nil {
				read[i] = &s
			}
		})
	}
	all.Wait()
	out := map[int64]*sight.Dialog{}
	for i, s := range read {
		if s != nil {
			out[agents[i].ID] = s
		}
	}
	return out
}

// mayAnswerDialog returns an error if a dialog must not be answered from elsewhere now, because another part of the daemon sees to
// it.
func (r *Room) mayAnswerDialog(ctx context.Context, a *daemon.Agent) error {
	if daemon.BeingEnded(a) {
		return daemon.Errorf(daemon.KindConflict, daemon.CodeAgentStopping, "Agent %d was asked to stop, and the daemon itself answers its dialogs", a.ID)
	}
	asked, err := r.store.Permissions(ctx, daemon.PermissionFilter{AgentID: a.ID, Open: true})
	if err != nil {
		return err
	}
	if len(asked) > 0 { // the oldest is the last
		return daemon.Errorf(daemon.KindConflict, daemon.CodeDialogIsPermission, "The dialog asks for permission %d: answer that, `understudy permission show %[1]d`", asked[len(asked)-1].ID)
	}
	return nil
}

// dialogEvent makes an event about an answer to a dialog. With a message, it is an alert.
func (r *Room) dialogEvent(typ event.Type, a *daemon.Agent, message string) *event.Event {
	in := a.DialogAnswer
	payload := map[string]any{
		"dialog": in.Dialog, "name": in.Name, "choice": in.Choice, "label": in.Label, "from": in.From, "state": in.State, "note": in.Note,
	}
	if message != "" {
		payload["message"] = message
	}
	e := engine.EventAbout(r.env.Engine, typ, a, payload)
	e.Alert = message != ""
	return e
}
