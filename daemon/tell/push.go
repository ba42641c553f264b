package tell

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/words"
)

// Push is a notification on its way to one target, as a row of the store. The row is committed together with the mark
// that the operator was told, so each notification has exactly one row for each of its targets.
type Push struct {
	ID         int64
	Host       string
	Target     string // the target's name in the settings
	Key        string // the same at each attempt; receivers that know it drop a repetition
	Message    Message
	State      PushState
	Attempts   int
	NextAt     time.Time  // not sent before this time
	MaybeTwice bool       // a daemon ended after it may have sent the push and before it had marked it
	Error      string     // why the last attempt failed
	CreatedAt  time.Time  // set by the store
	EndedAt    *time.Time // set by the store when State becomes PushSent or PushFailed
}

// PushState is where a push stands.
type PushState string

// The states of a push. A daemon commits PushSending before it sends.
const (
	PushPending PushState = "pending"
	PushSending PushState = "sending"
	PushSent    PushState = "sent"
	PushFailed  PushState = "failed" // given up
)

// Ended reports whether nothing more is done about a push in this state.
func (s PushState) Ended() bool { return s == PushSent || s == PushFailed }

// Message is what a target is told. Receivers get its JSON form.
type Message struct {
	Key        string     `json:"key"`
	Title      string     `json:"title"`
	Text       string     `json:"message"`
	Level      string     `json:"level"` // "error", "waiting", "completed", "finished" or "test"
	Type       event.Type `json:"type"`  // of the event; "" for a test
	At         time.Time  `json:"at"`    // of the event
	Host       string     `json:"host"`
	Link       string     `json:"link"` // opens what the message is about; "" while the daemon has no address
	EventID    int64      `json:"event_id"`
	AgentID    *int64     `json:"agent_id"`
	HandoffID  *int64     `json:"handoff_id"`
	PipelineID *int64     `json:"pipeline_id"`
	MaybeTwice bool       `json:"maybe_twice"` // the receiver may have had the message before
}

// LevelError is the level of alerts. The levels of notices are the names of their kinds.
const LevelError = "error"

// Levels returns the levels that a target may choose from.
func Levels() []string {
	return []string{LevelError, string(event.NoticeWaiting), string(event.NoticeCompleted), string(event.NoticeFinished)}
}

// PushReport says how one target of a host does.
type PushReport struct {
	Target   string
	Open     int        // pushes that are neither sent nor given up
	Twice    int        // pushes that may have arrived twice
	Retrying bool       // an open push has failed, and will be tried again
	SentAt   *time.Time // when a push was last sent; nil: none is known
	FailedAt *time.Time // when a push was last given up; nil: none is known
	Error    string     // of the newest push that failed, also if it will be tried again
}

// Down reports whether the newest push that has ended was given up.
func (r *PushReport) Down() bool {
	return r.FailedAt != nil && (r.SentAt == nil || r.FailedAt.After(*r.SentAt))
}

// Target is where notifications are sent beside the desktop.
type Target interface {
	// Send sends a message, and returns nil only if the receiver has taken it. An error may be an *[Unsent]. Its text never
	// contains a secret. Several goroutines may call Send at once.
	Send(ctx context.Context, m *Message) error
}

// Unsent is the error of a message that was not taken, with what follows from it.
type Unsent struct {
	Err   error
	Final bool          // the same message would be refused again
	After time.Duration // the receiver asks to wait this long; 0: it does not say
}

func (e *Unsent) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *Unsent) Unwrap() error { return e.Err }

// Route is a target with what is sent to it.
type Route struct {
	Name        string
	Kind        string   // "ntfy", "webhook" or "command"
	Levels      []string // empty: all
	Types       []string // of events, with * for any end, as in handoff_*; empty: all
	IncludeText bool     // also what agents and documents say
	Target      Target
}

// takes reports whether a route is for an event. The news that a target has failed does not go to that target.
func (r *Route) takes(e *event.Event) bool {
	var about struct {
		Target string `json:"target"`
	}
	if e.Type == event.NotificationFailed && json.Unmarshal(e.Payload, &about) == nil && about.Target == r.Name {
		return false
	}
	return (len(r.Levels) == 0 || slices.Contains(r.Levels, levelOf(e))) &&
		(len(r.Types) == 0 || slices.ContainsFunc(r.Types, func(pattern string) bool { return matchesType(pattern, e.Type) }))
}

// matchesType reports whether a type is the pattern, or begins with the pattern before its final *.
func matchesType(pattern string, t event.Type) bool {
	if begin, open := strings.CutSuffix(pattern, "*"); open {
		return strings.HasPrefix(string(t), begin)
	}
	return pattern == string(t)
}

// levelOf returns the level of an event that the operator is told about.
func levelOf(e *event.Event) string {
	if e.Alert {
		return LevelError
	}
	return string(e.Notice)
}

// pushesFor returns the rows for a notification about a group of events: one for each route that takes the newest.
func pushesFor(routes []Route, group []event.Event, n *Notification, now time.Time) (pushes []Push) {
	e := &group[len(group)-1]
	for i := range routes {
		r := &routes[i]
		if !r.takes(e) {
			continue
		}
		p := Push{Host: e.Host, Target: r.Name, State: PushPending, NextAt: now, Message: Message{
			Title: n.Title, Text: n.Message, Level: levelOf(e), Type: e.Type, At: e.At, Host: e.Host, EventID: e.ID,
			AgentID: commonID(group, func(e *event.Event) *int64 { return e.AgentID }), HandoffID: commonID(group, func(e *event.Event) *int64 { return e.HandoffID }),
			PipelineID: commonID(group, func(e *event.Event) *int64 { return e.PipelineID }),
		}}
		// The time makes the key differ from one of an earlier database with the same ids. At most 64 letters, digits and
		// hyphens, which ntfy demands.
		p.Key = fmt.Sprintf("understudy-%d-%s-%s", e.ID, strconv.FormatInt(e.At.UnixMilli(), 36), r.Name)
		pushes = append(pushes, p)
	}
	return pushes
}

// shaped returns a message in the form in which a route's receiver gets it. Without IncludeText, what agents and
// documents say is left out.
func (r *Route) shaped(m Message, base string, now time.Time) *Message {
	if !r.IncludeText {
		m.Title, m.Text = words.Log(m.Title), words.Log(m.Text)
	}
	m.Title, m.Text = words.Line(m.Title), words.Line(m.Text)
	if late := now.Sub(m.At); !m.At.IsZero() && late > noticeStale {
		m.Text += fmt.Sprintf(" (This is from %s, %s ago.)", m.At.UTC().Format("15:04 UTC on 2 January"), words.Age(late))
	}
	if base != "" {
		m.Link = strings.TrimSuffix(base, "/") + pathOf(&m)
	}
	return &m
}

// pathOf returns the page of what a message is about.
func pathOf(m *Message) string {
	switch {
	case m.HandoffID != nil:
		return fmt.Sprintf("/ui/handoffs/%d", *m.HandoffID)
	case m.PipelineID != nil && !m.Type.About("agent"):
		return fmt.Sprintf("/ui/pipelines/%d", *m.PipelineID)
	case m.AgentID != nil:
		return fmt.Sprintf("/ui/agents/%d", *m.AgentID)
	case m.PipelineID != nil:
		return fmt.Sprintf("/ui/pipelines/%d", *m.PipelineID)
	case m.Type == event.NotificationFailed:
		return "/ui/settings"
	}
	return "/"
}
