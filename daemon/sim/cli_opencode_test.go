package sim

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/actor"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/runtimes/opencode"
	"github.com/understudyd/understudy/data"
)

// opencodeCLI is OpenCode: it calls no hooks. The daemon reads its session from its server, and submits texts there.
var opencodeCLI = &cli{
	rt: mustRuntime("opencode"), plain: true,
	arguments: func(a *agent, argv []string) {
		a.session = "none" // its server makes one
		takes(a, argv, "", "-s", "")
		a.skilled = true // by a file that its settings name
		a.mood.trust, a.mood.compacts = false, 0
		a.changed = make(chan struct{})
	},
	show: func(a *agent) (string, string) {
		switch d := a.dialog; {
		case d != nil:
			return "  ┃  △ Permission required\n  ┃  " + d.Detail + d.Question, ""
		case !a.frame.Visible:
			return "", ""
		}
		below := "ctrl+p commands"
		if a.frame.Working != "" {
			below = "esc interrupt"
		}
		return "  ┃\n  ┃  " + strings.ReplaceAll(a.composer.Text, "\n", "\n  ┃  ") + "\n  ┃\n  ┃  Build · Fake\n  ╹▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀\n   /work  " + below, ""
	},
	hook: func(*agent, string, actor.Fields) (string, actor.Fields) { return "", nil },
	submitted: func(a *agent, prompt string) {
		keep(a, "user", "").Parts = []opencode.Part{{Type: "text", Text: prompt}}
	},
	message: func(a *agent, role, text string) []actor.Fields {
		if role == "assistant" {
			answer(a).Parts = append(answer(a).Parts, opencode.Part{Type: "text", Text: text})
			return nil
		}
		s := stored(a)
		for m := range each(s.messages) {
			if m.Info.Role == "user" && m.Parts[0].Text == text && !s.answered(m.Info.ID) && !slices.Contains(s.dropped, m.Info.ID) && !slices.Contains(s.read, m.Info.ID) {
				readDropped(a)
				keep(a, "assistant", m.Info.ID)
				return nil
			}
		}
		a.w.fail("agent %d takes a prompt that its session lacks: %q", a.id, text)
		return nil
	},
	read: func(a *agent, path string) []actor.Fields {
		p := opencode.Part{Type: "tool", Tool: "read", CallID: uuid(a.rng)}
		p.State.Status, p.State.Input.FilePath = "completed", path
		answer(a).Parts = append(answer(a).Parts, p)
		return nil
	},
	end: func(a *agent, how turnEnd, failure string) []actor.Fields {
		m := answer(a)
		m.Info.Time.Completed = a.h.now().UnixMilli()
		switch how {
		case turnDone:
			m.Info.Finish = "stop"
		case turnInterrupted:
			m.Info.Error = &opencode.Error{Name: "MessageAbortedError"}
			dropQueue(a)
		case turnFailed:
			m.Info.Error = &opencode.Error{Name: "APIError"}
			m.Info.Error.Data.Message, m.Info.Error.Data.StatusCode = failure, 429
		}
		a.change()
		return nil
	},
	transcript: func(*agent) string { return "" },
	limited: func(_ *agent, lasts time.Duration) (string, time.Duration) {
		return "usage limit reached", lasts + 5*time.Minute // only a retry so far away has its time
	},
	refused: func(a *agent, begins bool) {
		a.refused = begins
		a.change()
	},
	// It tries again when the limit is over, unless somebody aborts the turn.
	retry: func(ctx context.Context, a *agent, l *limitHit) {
		a.retries = l
		a.change()
		a.doIn(ctx, "waits for its retry", time.Until(l.over), time.Until(l.over))
		a.retries = nil
	},
}

// opencodeSession is a session in OpenCode's database, which outlives the process.
type opencodeSession struct {
	id, title string
	messages  []opencode.Message
	dropped   []string // the ids of prompts that it has not taken, nor ever will, and that its model has not read with a later one
	read      []string // the ids of prompts that it has not taken, and that its model has read with a later one
}

// dropQueue forgets the prompts that are queued behind a turn that is aborted. They stay in the session.
func dropQueue(a *agent) {
	s := stored(a)
	for i := range s.messages {
		m := &s.messages[i]
		if m.Info.Role != "user" || s.answered(m.Info.ID) || slices.Contains(s.dropped, m.Info.ID) || slices.Contains(s.read, m.Info.ID) {
			continue
		}
		text := m.Parts[0].Text
		a.w.plan.count("queued prompt dropped")
		a.w.trace.note(a.owner.name, "drops %.60q", text)
		s.dropped = append(s.dropped, m.Info.ID)
		a.jobs = slices.DeleteFunc(a.jobs, func(j job) bool { return j.prompt == text })
		for _, list := range []*[]string{&a.pending, &a.given} {
			if i := slices.Index(*list, text); i >= 0 {
				*list = slices.Delete(*list, i, i+1)
			}
		}
	}
}

// readDropped gives the model the prompts that were dropped: it reads them with the prompt that its session takes next.
func readDropped(a *agent) {
	s := stored(a)
	for m := range each(s.messages) {
		if slices.Contains(s.dropped, m.Info.ID) {
			a.given = append(a.given, m.Parts[0].Text)
		}
	}
	s.dropped, s.read = nil, append(s.read, s.dropped...)
}

// checkPassedOn: a prompt that OpenCode has dropped is in the record of the handoff for which the agent is ended, so that its successor
// learns of it.
func (w *world) checkPassedOn(a *agent, h *daemon.Handoff) {
	s := stored(a)
	if a.cli != opencodeCLI || s == nil || len(s.dropped) == 0 {
		return
	}
	rec, err := w.lent.Record(ctx(), h.ID)
	w.ok(err)
	for m := range each(s.messages) {
		text := m.Parts
		if !slices.Contains(s.dropped, m.Info.ID) || strings.Contains(text[0].Text, "] understudy:") {
			continue
		}
		if !slices.ContainsFunc(rec.Messages, func(said data.Message) bool { return strings.Contains(said.Text, text[0].Text) }) {
			w.fail("agent %d is ended by handoff %d, and its successor does not learn of a prompt that OpenCode has dropped: %.60q", a.id, h.ID, text[0].Text)
		}
	}
}

func (s *opencodeSession) answered(id string) bool {
	return slices.ContainsFunc(s.messages, func(m opencode.Message) bool { return m.Info.ParentID == id })
}

// stored returns the agent's session; nil: there is none yet.
func stored(a *agent) *opencodeSession {
	for _, s := range a.h.sessions {
		if s.id == a.session {
			return s
		}
	}
	return nil
}

// keep adds a message to the agent's session.
func keep(a *agent, role, parent string) *opencode.Message {
	var m opencode.Message
	m.Info.ID, m.Info.Role, m.Info.ParentID = "msg_"+uuid(a.rng), role, parent
	m.Info.Time.Created = a.h.now().UnixMilli()
	if role == "assistant" {
		m.Info.Provider, m.Info.Model, m.Info.Tokens.Total = "fake", "fake-1", 14_000
	}
	s := stored(a)
	s.messages = append(s.messages, m)
	a.change()
	return &s.messages[len(s.messages)-1]
}

// answer returns the answer that the running turn makes: the newest one.
func answer(a *agent) *opencode.Message {
	s := stored(a)
	for i := len(s.messages) - 1; ; i-- {
		if s.messages[i].Info.Role == "assistant" {
			return &s.messages[i]
		}
	}
}

// change tells those who follow the server that something has changed.
func (a *agent) change() {
	close(a.changed)
	a.changed = make(chan struct{})
}

// control is the server of an agent as a daemon sees it.
type control struct {
	g    *daemonRun
	link engine.Link
}

var _ engine.Control = (*control)(nil)

var errNoServer = errors.New("connection refused: simulated")

// at carries out a request to the server of the agent.
func (c *control) at(ctx context.Context, k kind, what string, do func(a *agent) error) error {
	return does(c.g, ctx, k, fmt.Sprintf("%s agent %d", what, c.link.AgentID), func() error {
		a := c.g.w.process(c.link.AgentID)
		if a == nil || a.h != c.g.h || !a.ready || a.cli != opencodeCLI {
			return errNoServer
		}
		return do(a)
	})
}

// Follow implements [daemon.Control] as package opencode does.
func (c *control) Follow(ctx context.Context, tell func(runtimes.Report) error) error {
	told, asks := map[string]bool{}, []string(nil)
	var idle time.Time
	var earlier map[string]bool
	retried := c.link.Retrying
	report := func(list ...runtimes.Report) error {
		for _, r := range list {
			if told[r.Key] {
				continue
			}
			if err := tell(r); err != nil {
				return err
			}
			told[r.Key] = true
			if id, asked := strings.CutPrefix(r.Key, "asked "); asked {
				asks = append(asks, id)
			}
		}
		return nil
	}
	asked := map[string]time.Time{}
	for {
		var changed, ended <-chan struct{}
		var sight opencode.Sight
		if err := c.at(ctx, looking, "GET session", func(a *agent) error {
			changed, ended, sight = a.changed, a.ended, c.sight(a)
			return nil
		}); err != nil {
			return err
		}
		if earlier == nil {
			var err error
			if earlier, err = c.link.Earlier(sight.PromptsBefore(c.link.Began)); err != nil {
				return err
			}
		}
		sight.Earlier = earlier
		now := c.g.h.now()
		if sight.Status.Type != "" {
			idle = time.Time{}
		} else if idle.IsZero() {
			idle = now
		}
		sight.IdleSince = idle
		for q := range each(sight.Asked) {
			if asked[q.ID].IsZero() {
				asked[q.ID] = now
			}
			q.Since = asked[q.ID]
		}
		if err := os.WriteFile(sight.Transcript, sight.Mirror(now, false), 0o600); err != nil {
			return err
		}
		sight.Retried = retried
		reports, limited, again := sight.Reports(now)
		for len(asks) > 0 && !slices.ContainsFunc(sight.Asked, func(q opencode.Asked) bool { return q.ID == asks[0] }) {
			if err := report(sight.DialogClosed(asks[0])); err != nil {
				return err
			}
			asks = asks[1:]
		}
		if err := report(reports...); err != nil {
			return err
		}
		retried = sight.Status.Type == "retry" && !limited
		if limited {
			if err := c.Interrupt(ctx); err != nil {
				return err
			}
		}
		if again == 0 {
			again = 20 * time.Second
		}
		timer := time.NewTimer(again)
		select {
		case <-timer.C:
		case <-changed:
		case <-ended:
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

// sight returns what the server tells of the agent's session. It makes the session if there is none.
func (c *control) sight(a *agent) opencode.Sight {
	title := opencode.Title(c.link.Name, c.link.AgentID, c.link.Server.Password[:8])
	if c.link.Session != "" {
		a.session = c.link.Session
	}
	if stored(a) == nil {
		for _, s := range a.h.sessions {
			if s.title == title {
				a.session = s.id
			}
		}
	}
	if stored(a) == nil {
		a.session = "ses_" + strings.ReplaceAll(uuid(a.rng), "-", "")
		a.h.sessions = append(a.h.sessions, &opencodeSession{id: a.session, title: title})
	}
	s := opencode.Sight{Session: a.session, Transcript: c.link.Transcript, Window: 100_000}
	for _, m := range stored(a).messages {
		m.Parts = slices.Clone(m.Parts)
		s.Messages = append(s.Messages, m)
	}
	switch {
	case a.retries != nil:
		s.Status = opencode.Status{Type: "retry", Message: a.retries.text, Next: a.h.now().Add(time.Until(a.retries.over)).UnixMilli()}
	case a.refused:
		s.Status = opencode.Status{Type: "retry", Message: "The server is overloaded", Next: a.h.now().Add(10 * time.Second).UnixMilli()}
	case a.stop != nil:
		s.Status.Type = "busy"
	}
	if a.dialog != nil && !a.dialog.exit {
		s.Asked = []opencode.Asked{{ID: fmt.Sprint("per_", a.dialogs), What: "permission for bash"}}
	}
	return s
}

// Send implements [daemon.Control].
func (c *control) Send(ctx context.Context, text string, since time.Time) error {
	return c.at(ctx, typing, fmt.Sprintf("POST prompt %.60q to", text), func(a *agent) error {
		if s := c.sight(a); !s.Awaits(text, since, a.h.now()) {
			a.accept(text)
		}
		return nil
	})
}

// Ask implements [daemon.Control].
func (c *control) Ask(ctx context.Context, _ string) ([]string, error) {
	if err := c.at(ctx, typing, "POST fork of", func(*agent) error { return nil }); err != nil {
		return nil, err
	}
	text, failure, err := c.g.forked(ctx, c.link.Session)
	if err == nil && failure != "" {
		err = errors.New(failure)
	}
	return []string{text}, err
}

// Interrupt implements [daemon.Control].
func (c *control) Interrupt(ctx context.Context) error {
	return c.at(ctx, typing, "POST abort to", func(a *agent) error {
		if a.stop != nil {
			a.stop(errInterrupted)
		}
		return nil
	})
}

// Exit implements [daemon.Control].
func (c *control) Exit(ctx context.Context, rest *runtimes.Rest) error {
	return c.at(ctx, typing, "POST app.exit to", func(a *agent) error {
		if s := c.sight(a); rest != nil && s.GivenWork(rest) {
			return daemon.ErrGivenWork
		}
		beforeExit(a.w, a)
		go a.exit()
		return nil
	})
}
