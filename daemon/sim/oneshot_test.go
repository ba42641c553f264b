package sim

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/actor"
)

// told returns the session whose conversation a prompt of mode transcript tells.
func (w *world) told(prompt string) string {
	agents, handoffs := w.rows()
	for i := range handoffs {
		for k := range agents {
			if a := &agents[k]; a.ID == handoffs[i].AgentID && a.SessionID != nil && strings.HasPrefix(prompt, "["+handoffs[i].Ref+"]") {
				return *a.SessionID
			}
		}
	}
	return ""
}

// oneShot runs a fork of an agent's session, which answers with the handoff document. The fork knows what the session
// knew when the fork began.
func (g *daemonRun) oneShot(ctx context.Context, job daemon.OneShot) (daemon.OneShotResult, error) {
	w := g.w
	session := w.told(string(job.Stdin))
	if i := slices.Index(job.Argv, "--resume"); i >= 0 {
		session = job.Argv[i+1]
	}
	park := func(what string, hi time.Duration) error {
		o := w.park(&call{own: &g.owner, who: daemon.Caller(ctx), what: what + " " + session, ctx: ctx, slow: func() time.Duration {
			return between(w.rng, 0, hi)
		}})
		return o.cut
	}
	if err := park("one-shot begins", 50*time.Millisecond); err != nil {
		return daemon.OneShotResult{}, err
	}
	var of *agent
	for _, a := range w.agents {
		if a.h == g.h && a.session == session {
			of = a
		}
	}
	if of == nil {
		w.fail("a one-shot forks session %s, which no agent has", session)
		return daemon.OneShotResult{}, nil
	}
	text := actor.Session{Name: of.name, ID: session, Cwd: g.h.cwd, Memory: of.memory}.Document(nil)
	of.documentAt, of.unmentioned = time.Now(), nil
	w.trace.note(g.name, "one-shot of agent %d begins", of.id)
	if err := park("one-shot writes", 30*time.Second); err != nil {
		return daemon.OneShotResult{}, err
	}
	result := map[string]any{"type": "result", "subtype": "success", "is_error": false}
	if w.plan.has("documents fail") {
		switch w.rng.IntN(4) {
		case 0:
			w.plan.count("one-shot fails")
			result = map[string]any{"type": "result", "subtype": "error", "is_error": true, "errors": []string{"API Error: 429"}}
		case 1:
			w.plan.count("one-shot says nothing")
			text = " "
		}
	}
	var out []byte
	for _, line := range []any{
		map[string]any{"type": "assistant", "message": map[string]any{"id": "msg_1", "model": "claude-opus-5-5", "content": []any{map[string]any{"type": "text", "text": text}}}},
		result,
	} {
		b, err := json.Marshal(line)
		if err != nil {
			return daemon.OneShotResult{}, err
		}
		out = append(append(out, b...), '\n')
	}
	return daemon.OneShotResult{Stdout: out}, nil
}
