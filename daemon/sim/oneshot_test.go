package sim

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/actor"
	"github.com/understudyd/understudy/daemon/engine"
)

// told returns the session whose conversation a prompt of mode transcript tells.
func (w *world) told(prompt string) string {
	agents, handoffs := w.rows()
	for i := range handoffs {
		for a := range each(agents) {
			if a.ID == handoffs[i].AgentID && a.SessionID != nil && strings.HasPrefix(prompt, "["+handoffs[i].Ref+"]") {
				return *a.SessionID
			}
		}
	}
	return ""
}

// oneShot runs a fork of an agent's session, which answers with the handoff document. The fork knows what the session
// knew when the fork began.
func (g *daemonRun) oneShot(ctx context.Context, job engine.OneShot) (engine.OneShotResult, error) {
	w := g.w
	session := w.told(string(job.Stdin))
	switch at := func(flag string) int { return slices.Index(job.Argv, flag) }; {
	case at("--resume") >= 0:
		session = job.Argv[at("--resume")+1]
	case at("queue") >= 0:
		return g.queue(ctx, job.Argv[at("--thread")+1], strings.TrimPrefix(job.Argv[len(job.Argv)-1], "--message="))
	case at("fork") >= 0:
		session = job.Argv[len(job.Argv)-2]
	case at("--fork") >= 0:
		session = strings.TrimSuffix(filepath.Base(job.Argv[at("--fork")+1]), ".jsonl")
	}
	text, failure, err := g.forked(ctx, session)
	if err != nil {
		return engine.OneShotResult{}, err
	}
	var out []byte
	for _, line := range answers[job.Argv[0]](text, failure) {
		out = append(append(out, mustJSON(line)...), '\n')
	}
	return engine.OneShotResult{Stdout: out}, nil
}

// forked has a copy of a session write its document. failure is the error that the copy reports; "": none.
func (g *daemonRun) forked(ctx context.Context, session string) (text, failure string, err error) {
	w := g.w
	park := func(what string, hi time.Duration) error {
		o := w.park(&call{own: &g.owner, who: daemon.Caller(ctx), what: what + " " + session, ctx: ctx, slow: func() time.Duration {
			return between(w.rng, 0, hi)
		}})
		return o.cut
	}
	if err := park("one-shot begins", 50*time.Millisecond); err != nil {
		return "", "", err
	}
	var of *agent
	for _, a := range w.agents {
		if a.h == g.h && a.session == session {
			of = a
		}
	}
	if of == nil {
		w.fail("a one-shot forks session %s, which no agent has", session)
		return "", "", nil
	}
	text = actor.Session{Name: of.name, ID: session, Cwd: of.dir, Memory: of.memory}.Document(nil)
	of.documentAt, of.unmentioned = time.Now(), nil
	w.trace.note(g.name, "one-shot of agent %d begins", of.id)
	if err := park("one-shot writes", 30*time.Second); err != nil {
		return "", "", err
	}
	if w.plan.has("documents fail") {
		switch w.rng.IntN(4) {
		case 0:
			w.plan.count("one-shot fails")
			failure = "API Error: 429"
		case 1:
			w.plan.count("one-shot says nothing")
			text = " "
		}
	}
	if of.copied != nil {
		text, failure = of.copied(text)
	}
	return text, failure, nil
}

// answers make the output of a one-shot, by the name of the program. failure is the error that it reports; "": none.
var answers = map[string]func(text, failure string) []actor.Fields{
	"claude": func(text, failure string) []actor.Fields {
		result := actor.Fields{"type": "result", "subtype": "success", "is_error": false}
		if failure != "" {
			result = actor.Fields{"type": "result", "subtype": "error", "is_error": true, "errors": []string{failure}}
		}
		return []actor.Fields{{"type": "assistant", "message": actor.Fields{
			"id": "msg_1", "model": "claude-opus-5-5", "content": []any{actor.Fields{"type": "text", "text": text}},
		}}, result}
	},
	"codex": func(text, failure string) []actor.Fields {
		if failure != "" {
			return []actor.Fields{{"type": "turn.failed", "error": actor.Fields{"message": failure}}}
		}
		return []actor.Fields{{"type": "item.completed", "item": actor.Fields{"type": "agent_message", "text": text}}, {"type": "turn.completed"}}
	},
	"omp": func(text, failure string) []actor.Fields {
		m := actor.Fields{"role": "assistant", "content": []any{actor.Fields{"type": "text", "text": text}}, "stopReason": "stop"}
		if failure != "" {
			m["stopReason"], m["errorMessage"] = "error", failure
		}
		return []actor.Fields{{"type": "message_end", "message": m}, {"type": "agent_end"}}
	},
	"gemini": func(text, failure string) []actor.Fields {
		if failure != "" {
			return []actor.Fields{{"error": actor.Fields{"type": "ApiError", "message": failure}}}
		}
		return []actor.Fields{{"response": text}}
	},
	"opencode": func(text, failure string) []actor.Fields {
		if failure != "" {
			return []actor.Fields{{"type": "error", "error": actor.Fields{"name": "APIError", "data": actor.Fields{"message": failure}}}}
		}
		return []actor.Fields{{"type": "text", "part": actor.Fields{"messageID": "msg_1", "text": text}}, {"type": "step_finish", "part": actor.Fields{"reason": "stop"}}}
	},
}

// queue puts a text into the queue of a session of Codex, as its command does.
func (g *daemonRun) queue(ctx context.Context, session, text string) (engine.OneShotResult, error) {
	return carry(g, ctx, typing, "queue "+session, func() (engine.OneShotResult, error) {
		g.h.queues[session] = append(g.h.queues[session], text)
		return engine.OneShotResult{}, nil
	})
}
