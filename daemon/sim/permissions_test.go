package sim

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/actor"
	"github.com/understudyd/understudy/daemon/house"
	"github.com/understudyd/understudy/daemon/permissions"
	"github.com/understudyd/understudy/hooks"
	"github.com/understudyd/understudy/tmux"
)

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

// sendHeld hands a PermissionRequest to the daemon, as the hook's command does: when it was held and the daemon goes away, it asks
// again for 30 seconds. ok is false if the event must be spooled.
func (h *host) sendHeld(own *owner, env hooks.Envelope, post func(context.Context, *house.House, func(int64)) (json.RawMessage, error)) (said json.RawMessage, ok bool, err error) {
	held := false
	var lost time.Time
	for {
		if g := h.daemon; g != nil && g.listening {
			answered, was, err := g.hold(own.name, hooks.AnswerTimeout(env.Event), func(ctx context.Context, d *house.House, joined func(int64)) (err error) {
				said, err = post(ctx, d, joined)
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
	list, err := p.w.lent.Permissions(context.Background(), daemon.PermissionFilter{AgentID: a.id, Open: true, Limit: 1})
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
	return must(w.lent.Permissions(context.Background(), daemon.PermissionFilter{Open: true, Limit: 100_000}))
}

// checkPermissions: each answer that a hook got is the one in its row.
func (w *world) checkPermissions() {
	list := must(w.lent.Permissions(context.Background(), daemon.PermissionFilter{Limit: 100_000}))
	for p := range each(list) {
		got := w.permitted[p.ID]
		want := map[daemon.PermissionVerdict]string{daemon.Allow: "allow", daemon.AllowAgent: "allow", daemon.Deny: "deny"}[p.Verdict]
		if got != "" && (got != want || p.State != daemon.PermissionGiven) {
			w.fail("the hook of permission %d was told %s, but its row is %s %s", p.ID, got, p.State, p.Verdict)
		}
	}
}

// sendPermission is host.send for a PermissionRequest that the daemon may hold.
func (h *host) sendPermission(own *owner, p tmux.Process, env hooks.Envelope, spool func(string) hookAnswer) (answer hookAnswer) {
	var id int64
	said, ok, err := h.sendHeld(own, env, func(ctx context.Context, d *house.House, joined func(int64)) (json.RawMessage, error) {
		return d.Daemon.HookHeld(ctx, env, &tmux.Peer{Process: p, UID: os.Geteuid()}, func(held int64) {
			id = held
			joined(held)
		})
	})
	var told *daemon.Error
	switch {
	case !ok:
		return spool("no answer")
	case errors.As(err, &told) && told.Kind != daemon.KindUnavailable && told.Kind != daemon.KindInternal:
		h.w.fail("hook %s was refused: %v", env.Event, err)
		return answer
	case err != nil:
		return spool(err.Error())
	}
	var out struct {
		Specific struct {
			Decision struct{ Behavior string }
		} `json:"hookSpecificOutput"`
	}
	if len(said) > 0 && json.Unmarshal(said, &out) == nil {
		answer.permits = out.Specific.Decision.Behavior
		if id != 0 {
			h.w.permitted[id] = answer.permits
		}
	}
	h.w.park(&call{own: own, what: "returns"})
	return answer
}
