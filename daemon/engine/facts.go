package engine

import (
	"context"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/presence"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/data"
	"github.com/understudyd/understudy/personas"
	"github.com/understudyd/understudy/tmux"
)

// Facts is what a decision may know besides rows: values, taken before the transaction. A decision under row locks has nothing else, because
// a file, a process or a lock that it waited for would hold up all that need these rows. What depends on the rows themselves it asks for: see
// [Facts.ask].
type Facts struct {
	Host     string
	Now      time.Time
	Settings *Settings // nobody changes them
	Dir      data.Dir
	Past     presence.Past     // what times the clock has shown up to Now
	Personas personas.Snapshot // nobody changes it

	Answers map[Question]Answer
	Open    *Question // the first question that has no answer yet; nil: there is none
}

// Question names a fact that cannot be known before the rows are. One of its fields is set.
type Question struct {
	Content  string // has the file at this path content?
	Real     string // where does this path lead once all links are followed?
	Move     Move   // has a session moved so?
	Persona  string // what does this persona say, which the snapshot lacks?
	Rules    string // what does this persona allow and deny at this moment? An operator who has just denied something counts on it
	Within   int    // does the hook's process run inside this process?
	Answered int64  // when did this agent go on after its last permission was answered?
}

// Answer is what a look has found. Without one all is zero.
type Answer struct {
	Yes     bool
	Path    string
	At      time.Time
	Persona personas.Persona
}

// Ask returns the answer to a question. If there is none yet, the decision that asks does not count: whoever lets it decide undoes it, looks,
// and lets it decide again.
func (f *Facts) Ask(q Question) Answer {
	a, known := f.Answers[q]
	if !known && f.Open == nil {
		f.Open = &q
	}
	return a
}

// Facts returns what is known now.
func (d *Engine) Facts() *Facts {
	f := &Facts{Host: d.Host, Now: d.Now(), Settings: d.Settings(), Dir: d.Data, Answers: map[Question]Answer{}}
	f.Past = d.past(f.Now)
	if d.Personas != nil {
		f.Personas = d.Personas.Snapshot()
	}
	return f
}

// FactsFor returns what is known now for a decision about an agent, which will not be made again. What the agent's persona says is in it.
func (d *Engine) FactsFor(a *daemon.Agent) *Facts {
	f := d.Facts()
	if f.persona(a); f.Open != nil {
		f.Answers[*f.Open] = d.LookFor(context.Background(), tmux.Process{}, *f.Open)
		f.Open = nil
	}
	return f
}

// persona returns what an agent's persona says; if the agent plays none, or it cannot be read, nothing.
func (f *Facts) persona(a *daemon.Agent) (none personas.Persona) {
	if a.Persona == nil {
		return none
	}
	if p, ok := f.Personas.Find(*a.Persona); ok {
		return p
	}
	return f.Ask(Question{Persona: *a.Persona}).Persona
}

// Event makes an event of this host.
func (f *Facts) Event(typ event.Type, agentID, handoffID *int64, payload map[string]any) *event.Event {
	return &event.Event{Type: typ, At: f.Now, Host: f.Host, AgentID: agentID, HandoffID: handoffID, Payload: event.Payload(payload)}
}

// RuntimeOf returns an agent's runtime. If that is no longer configured, the runtime that it returns can do nothing.
func (f *Facts) RuntimeOf(a *daemon.Agent) *runtimes.Runtime {
	rt, _ := f.Settings.RuntimeNamed(a.Runtime)
	return rt
}

// CameAfter reports whether a hook was sent after a text was typed. Both the id and the time of the hook must be later. The
// id alone may mislead, because a hook that was sent before the text may be stored after it. The time alone may mislead,
// because the clock may have been set back.
func (f *Facts) CameAfter(hook int64, at time.Time, dl *daemon.Delivery) bool {
	return hook > dl.AfterHook && at.Truncate(time.Microsecond).After(f.Past.Earliest(*dl.TypedAt)) // the store keeps microseconds
}

// EndTrouble ends the trouble of an agent and returns the event, in which by says what ended the trouble; nil: the agent
// was in none. The Stop of a turn that ended well calls it, the RetryEnded, and the end of the agent.
func (f *Facts) EndTrouble(a *daemon.Agent, by string) *event.Event {
	if a.Trouble == nil {
		return nil
	}
	e := f.Event(event.AgentTroubleOver, &a.ID, nil, map[string]any{"code": a.Trouble.Code, "since": a.Trouble.Since, "by": by}).For(a.PipelineID, a.StepID)
	a.PassTrouble()
	return e
}

// Move is what a hook says about the directory of a session.
type Move struct{ From, To string }
