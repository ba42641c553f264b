package sim

import (
	"context"
	"encoding/json"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/actor"
	"github.com/understudyd/understudy/daemon/dialogs"
	"github.com/understudyd/understudy/daemon/house"
	"github.com/understudyd/understudy/daemon/permissions"
	"github.com/understudyd/understudy/daemon/sight"
	"github.com/understudyd/understudy/hooks"
	"github.com/understudyd/understudy/tmux"
)

// dialog is an open question, or one that waits behind another.
type dialog struct {
	actor.Dialog
	answer   chan int
	exit     bool      // the question is whether to exit although tasks run
	limit    bool      // the question is whether to keep trying although a usage limit is reached
	sub      bool      // a sub-agent's: the agent itself may end its turn and begin another one
	before   string    // the status in the registry without the dialog
	shown    time.Time // since when it stands in the pane
	answered time.Time // when it was answered
}

// give answers the dialog, unless it has an answer already.
func (d *dialog) give(choice int) {
	if d.answered.IsZero() {
		d.answered = time.Now()
		d.answer <- choice
	}
}

// ask opens a dialog, waits for a person's choice and returns it, -1 for a refusal.
func ask(a *agent, what, status string, d dialog) int { return askIn(a, what, status, newDialog(d)) }

// asksFeedback opens a dialog as ask does, but keys that were typed before are lost in it, and may answer it.
func asksFeedback(a *agent, what, detail string) int {
	return stand(a, what, "waiting", newDialog(dialog{Dialog: actor.Dialog{Title: "Feedback", Detail: detail, Question: "Do you want to proceed?", Choices: []string{"Yes", "No"}}}))
}

func newDialog(d dialog) *dialog {
	d.answer = make(chan int, 1)
	return &d
}

func askIn(a *agent, what, status string, d *dialog) int {
	if a.dialog == nil {
		a.press() // keys that were typed before the dialog opens do not answer it
	}
	return stand(a, what, status, d)
}

// stand has a dialog stand in the pane until it is answered. Dialogs wait for each other: until the last is answered, the registry says
// that the agent waits.
func stand(a *agent, what, status string, d *dialog) int {
	if a.dialog != nil {
		a.behind = append(a.behind, d)
		a.w.plan.count("dialog behind another")
	} else {
		d.before = a.status
		show(a, d)
		if status != "startup" {
			a.register("waiting")
		}
	}
	a.w.trace.note(a.owner.name, "asks in a dialog: %s %s", what, d.Detail)
	var choice int
	select {
	case choice = <-d.answer:
	case <-a.ended:
		runtime.Goexit()
	}
	a.do("dialog answered", 0, 5*time.Millisecond)
	if a.dialog == d {
		a.stood = append(a.stood, span{d.shown, time.Now()})
	}
	switch {
	case a.dialog != d:
		a.behind = slices.DeleteFunc(a.behind, func(other *dialog) bool { return other == d })
	case len(a.behind) > 0:
		next := a.behind[0]
		a.behind, next.before = a.behind[1:], d.before
		show(a, next)
	default:
		a.dialog = nil
		if status != "startup" {
			a.register(d.before)
		}
		a.draw()
	}
	return choice
}

// show has a dialog stand in the pane.
func show(a *agent, d *dialog) {
	a.dialog, d.shown = d, time.Now()
	a.dialogs++
	a.draw()
}

// allowsBash is the dialog that asks for the permission to run a command.
func allowsBash(command string, sub bool) *dialog {
	return newDialog(dialog{sub: sub, Dialog: actor.Dialog{Title: "Bash", Detail: command, Question: "Do you want to proceed?", Choices: []string{"Yes", "No"}}})
}

// keyInDialog takes a key that comes while a dialog stands in the pane.
func keyInDialog(a *agent, key tmux.Key) {
	switch d := a.dialog; {
	case key == tmux.Down:
		d.Selected = (d.Selected + 1) % max(1, len(d.Choices))
		a.draw()
	case key == tmux.Up:
		d.Selected = max(0, d.Selected-1)
		a.draw()
	case key == tmux.Enter:
		d.give(d.Selected)
	case !d.limit && (key == tmux.Escape || key == tmux.CtrlC):
		d.give(-1)
	}
}

// chosenAtASeat reports whether an Enter of a daemon takes what the operator has chosen elsewhere: it is the dialog that they were shown, the
// row says which choice, the daemon presses its keys now, and it has not done so before.
func chosenAtASeat(a *agent, d *dialog) bool {
	row, err := a.w.lent.Agent(ctx(), a.id)
	in := row.DialogAnswer
	if err != nil || in == nil || in.State != daemon.DialogPressing || in.Choice != d.Selected+1 || in.Label != d.Choices[d.Selected] || a.seats[in.Nth] {
		return false
	}
	if text := a.shown[in.Dialog]; !strings.Contains(text, d.Title) || !strings.Contains(text, d.Detail) || !strings.Contains(text, d.Question) {
		a.w.trace.note(a.owner.name, "another dialog was answered: %q", text)
		return false
	}
	a.seats[in.Nth] = true
	a.w.plan.count("dialog answered at a seat")
	return true
}

// sit answers the dialogs of a host's panes from elsewhere, beside whoever looks at the panes.
func (p *person) sit(h *host) {
	for {
		p.wait("sits", 500*time.Millisecond, 4*time.Second)
		for _, a := range p.w.agentsOf(h) {
			if a.dialog != nil && !a.dialog.exit && !time.Now().Before(h.asleep) {
				p.answerDialog(a)
			}
		}
	}
}

// answerDialog answers the dialog of an agent's pane, if that can be done from elsewhere.
func (p *person) answerDialog(a *agent) {
	g := a.h.daemon
	if g == nil || !g.listening || a.cli != claudeCLI {
		return
	}
	var shown sight.Dialog
	if answered, err := g.call(p.name, 20*time.Second, func(ctx context.Context, _ *house.House) (err error) {
		shown, err = g.dialogOf(ctx, a)
		return err
	}); !answered || err != nil || shown.Why != "" || len(shown.Choices) == 0 {
		return
	}
	p.wait("reads the dialog", 0, time.Second)
	in := dialogs.DialogChoiceRequest{Dialog: shown.ID, Choice: 1 + p.w.rng.IntN(len(shown.Choices)), From: p.name}
	if g = a.h.daemon; g == nil || !g.listening {
		return
	}
	var out daemon.DialogAnswer
	answered, err := g.call(p.name, 20*time.Second, func(ctx context.Context, _ *house.House) (err error) {
		out, err = g.house.Dialogs.AnswerDialog(ctx, a.id, in)
		return err
	})
	p.w.trace.note(p.name, "answers the dialog of agent %d with choice %d: %t, %v, %s %s", a.id, in.Choice, answered, err, out.State, out.Note)
}

// dialogOf is what an operator is shown of an agent's dialog.
func (g *daemonRun) dialogOf(ctx context.Context, a *agent) (sight.Dialog, error) {
	shown, err := g.house.Dialogs.Dialog(ctx, a.id)
	a.shown[shown.ID] = shown.Text
	return shown, err
}

// checkDialogAnswers: what a row says of an answer is what has become of the keys. Nothing is left open.
func (w *world) checkDialogAnswers(agents []daemon.Agent, over bool) {
	for row := range each(agents) {
		in := row.DialogAnswer
		a := w.process(row.ID)
		switch {
		case in == nil || a == nil:
		case (in.State == daemon.DialogGone || in.State == daemon.DialogOther || in.State == daemon.DialogStays) && !a.seats[in.Nth]:
			w.fail("agent %d: answer %d is %s (%s), but nobody pressed Enter for it", row.ID, in.Nth, in.State, in.Note)
		case in.State == daemon.DialogNotPressed && a.seats[in.Nth]:
			w.fail("agent %d: answer %d is not_pressed (%s), but Enter was pressed for it", row.ID, in.Nth, in.Note)
		case over && in.Open():
			w.fail("agent %d: answer %d is still %s", row.ID, in.Nth, in.State)
		}
	}
}

// The agents whose CLI shows the dialog of a permission while its hook runs. The daemon holds the hook. People answer in the
// pane or from their seat, at any time, and daemons are killed meanwhile.

// deniedByHook is the choice for which the hook of a dialog has decided: the call is refused, and the turn goes on.
const deniedByHook = 2

// heldFor is how long a hook's process waits at most, as its timeout in the CLI's settings says.
const heldFor = time.Hour

// askHeld asks for permission as a CLI does that shows its dialog beside the hook. It returns what was chosen.
func (a *agent) askHeld(command string, sub bool) int {
	d := allowsBash(command, sub)
	a.asked[command] = d
	go a.remind(d)
	fields := a.hooks().PermissionRequest("Bash", actor.Fields{"command": command, "description": "clean"}, false)
	if sub {
		fields["agent_id"], fields["agent_type"] = "a00000001", "general-purpose"
	}
	go func() {
		answer := a.hook(hooks.PermissionRequest, fields)
		if answer.permits == "" {
			return
		}
		a.w.plan.count("permission from the seat")
		d.give(map[string]int{"allow": 0, "deny": deniedByHook}[answer.permits])
	}()
	return askIn(a, "permission", "waiting", d)
}

// hold runs do as a request whose answer the daemon may hold. answered is false if the daemon ended or took too long; was
// says that it held the request.
func (g *daemonRun) hold(name string, within time.Duration, do func(ctx context.Context, d *house.House, held func(int64)) error) (answered, was bool, err error) {
	joined := make(chan int64, 2)
	done := make(chan struct{})
	go func() {
		defer close(done)
		answered, err = g.call(name, heldFor, func(asked context.Context, d *house.House) error {
			return do(asked, d, func(id int64) { joined <- id })
		})
	}()
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case <-done:
		return answered, len(joined) > 0, err
	case <-joined:
	case <-timer.C:
		return false, false, nil
	}
	<-done
	return answered, true, err
}

// sendHeld hands an event to the daemon that it may hold, as the hook's command does: when it was held and the daemon goes away, it asks
// again for 30 seconds. holds is told for what it is held. ok is false if the event must be spooled.
func (h *host) sendHeld(own *owner, env hooks.Envelope, peer *tmux.Peer, holds func(id int64)) (said json.RawMessage, ok bool, err error) {
	held := false
	var lost time.Time
	for {
		if g := h.daemon; g != nil && g.listening {
			answered, was, err := g.hold(own.name, hooks.AnswerTimeout(env.Event), func(ctx context.Context, d *house.House, joined func(int64)) (err error) {
				said, err = d.Daemon.HookHeld(ctx, env, peer, func(id int64) {
					holds(id)
					joined(id)
				})
				return err
			})
			if was {
				held, lost = true, time.Time{}
			}
			if answered && err == nil || !held {
				return said, answered, err
			}
		} else if !held {
			return nil, false, nil
		}
		if lost.IsZero() {
			lost = time.Now()
		}
		if time.Since(lost) > 30*time.Second {
			return nil, true, nil // the daemon has the event
		}
		h.w.park(&call{own: own, what: "asks again", slow: func() time.Duration { return 200 * time.Millisecond }})
	}
}

// answerPermission answers what an agent asks, from a seat at any host, and now and then in its pane as well. It reports whether there was
// something to answer.
func (p *person) answerPermission(a *agent) bool {
	if p.w.rng.IntN(4) == 0 {
		a.person("", tmux.Enter)
		p.wait("answers at its seat, too", 0, 300*time.Millisecond)
	}
	list, err := p.w.lent.Permissions(ctx(), daemon.PermissionFilter{AgentID: a.id, Open: true, Limit: 1})
	if err != nil || len(list) == 0 || list[0].State != daemon.PermissionOpen {
		return false
	}
	asked := list[0]
	in := permissions.Answer{Verdict: daemon.Allow, Digest: asked.Digest, From: p.name}
	switch p.w.rng.IntN(4) {
	case 0:
		in.Verdict, in.Sentence = daemon.Deny, "not now"
	case 1:
		in.Verdict = daemon.AllowAgent
	}
	h := p.anyHost()
	if h.daemon == nil || !h.daemon.listening {
		return false
	}
	answered, err := h.daemon.call(p.name, 20*time.Second, func(ctx context.Context, d *house.House) error {
		return errorOf(d.Permissions.Answer(ctx, asked.ID, in))
	})
	p.w.trace.note(p.name, "answers permission %d with %s: %t, %v", asked.ID, in.Verdict, answered, err)
	return true
}

// openPermissions returns the permissions that have not ended.
func (w *world) openPermissions() []daemon.Permission {
	return must(w.lent.Permissions(ctx(), daemon.PermissionFilter{Open: true, Limit: 100_000}))
}

// checkPermissions: each answer that a hook got is the one in its row.
func (w *world) checkPermissions() {
	list := must(w.lent.Permissions(ctx(), daemon.PermissionFilter{Limit: 100_000}))
	for p := range each(list) {
		got := w.permitted[p.ID]
		want := map[daemon.PermissionVerdict]string{daemon.Allow: "allow", daemon.AllowAgent: "allow", daemon.Deny: "deny"}[p.Verdict]
		if got != "" && (got != want || p.State != daemon.PermissionGiven) {
			w.fail("the hook of permission %d was told %s, but its row is %s %s", p.ID, got, p.State, p.Verdict)
		}
	}
}
