package tell

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/words"
)

// alertsOf returns the alerts among pending events, which come before the notices.
func alertsOf(events []event.Event) []event.Event {
	n := slices.IndexFunc(events, func(e event.Event) bool { return !e.Alert })
	if n < 0 {
		n = len(events)
	}
	return events[:n]
}

// alertTopic returns the topic of an alert. If the alert has a Cause, the topic is the Cause; otherwise the alert is a
// topic of its own. Alerts of one topic are reported together.
func alertTopic(e *event.Event) string {
	if e.Cause != "" {
		return e.Cause
	}
	return fmt.Sprintf("event %d", e.ID)
}

// inGroups groups events by topic, in the order of the first event of each group.
func inGroups(events []event.Event, topic func(*event.Event) string) [][]event.Event {
	var groups [][]event.Event
	at := map[string]int{}
	for _, e := range events {
		name := topic(&e)
		i, ok := at[name]
		if !ok {
			i = len(groups)
			at[name], groups = i, append(groups, nil)
		}
		groups[i] = append(groups[i], e)
	}
	return groups
}

// gatherFor returns how much longer the teller waits for more events with the group's Cause. It returns 0 if the wait is
// over or the group has no Cause. A teller waits at least until causeQuiet after its start, because the daemon may still
// find more events that happened while no daemon ran.
func (t *Teller) gatherFor(group []event.Event) time.Duration {
	if group[0].Cause == "" {
		return 0
	}
	left := min(causeQuiet-t.Spent(group[len(group)-1].At), causeLongest-t.Spent(group[0].At))
	return max(left, causeQuiet-time.Since(t.began), 0)
}

// commonID returns the id that all events of a group have. It returns nil if an event has no id, or if two ids differ.
func commonID(group []event.Event, id func(*event.Event) *int64) *int64 {
	first := id(&group[0])
	for i := range group {
		if this := id(&group[i]); first == nil || this == nil || *this != *first {
			return nil
		}
	}
	return first
}

// groupText returns the notification for a group of events.
func (t *Teller) groupText(group []event.Event) (title, message string) {
	newest := &group[len(group)-1]
	switch {
	case strings.HasPrefix(newest.Cause, event.CauseServer) && slices.ContainsFunc(group, func(e event.Event) bool { return e.Type == event.AgentEnded }):
		return t.serverText(group)
	case newest.Type == event.AgentResumed, newest.Type == event.AgentNotResumed:
		return resumedText(group)
	case len(group) > 1 && newest.Type == event.AgentTrouble:
		return troubleText(group)
	}
	title, message = AlertText(newest)
	if more := len(group) - 1; more > 0 {
		title += fmt.Sprintf(", and %d more", more)
	}
	return title, message
}

// groupPayload has the members of an event's payload that groupText uses.
type groupPayload struct {
	Name     string `json:"agent_name"`
	Reported string `json:"reported"` // the runtime's own text about the trouble
	Socket   string `json:"tmux_socket"`
	Own      bool   `json:"own_server"`
	Tied     string `json:"tied"` // see [event.TiedNoSession]
	Phase    string `json:"phase"`
	By       int64  `json:"successor_id"` // the agent that opened the session again
	Why      string `json:"why"`          // why the session was not opened again
}

func payloadOf(e *event.Event) (p groupPayload) {
	_ = json.Unmarshal(e.Payload, &p) // a payload of another version may lack members
	return p
}

// troubleText returns the notification for several agents that have the same trouble.
func troubleText(group []event.Event) (title, message string) {
	newest := &group[len(group)-1]
	var who []string
	for _, e := range sortedByAgent(group) {
		if name := agentName(e, ""); !slices.Contains(who, name) {
			who = append(who, name)
		}
	}
	code, text := words.Of(strings.TrimPrefix(newest.Cause, event.CauseTrouble)), payloadOf(newest).Reported
	if text != "" {
		text = " " + words.Quote(text)
	}
	return fmt.Sprintf("understudy: %d agents in trouble, %s", len(who), code),
		fmt.Sprintf("%d agents are in trouble, %s%s: %s. What to do about each: `understudy agent show ID`.", len(who), code, text, shortList(who))
}

// serverText returns the notification for the end of a tmux server. It names the agents that ended with the server, and
// the handoffs and pipelines that failed because of it.
func (t *Teller) serverText(group []event.Event) (title, message string) {
	var who, open, fresh, look, retry, resume []string
	again := resumedOf(group)
	var p groupPayload
	for _, e := range sortedByAgent(group) {
		switch about := payloadOf(e); {
		case e.Type == event.AgentEnded && e.AgentID != nil:
			p = about
			who = append(who, agentName(e, about.Tied))
			switch about.Tied {
			case "":
				if again.of[*e.AgentID] {
					continue
				}
				open = append(open, fmt.Sprint(*e.AgentID))
			case event.TiedNoSession, event.TiedNoConversation:
				fresh = append(fresh, fmt.Sprint(*e.AgentID))
			}
		case e.Type == event.HandoffFailed && e.HandoffID != nil && !t.Kept(about.Phase):
			look = append(look, fmt.Sprint(*e.HandoffID))
		case e.Type == event.HandoffFailed && e.HandoffID != nil:
			retry = append(retry, fmt.Sprint(*e.HandoffID))
		case e.Type == event.PipelineFailed && e.PipelineID != nil:
			resume = append(resume, fmt.Sprint(*e.PipelineID))
		}
	}
	ended := words.Count(len(who), "agent")
	var b strings.Builder
	fmt.Fprintf(&b, "The tmux server at %s has ended, and %s with it: %s.", p.Socket, ended, shortList(who))
	for _, next := range []struct {
		ids  []string
		text string
	}{
		{resume, " Pipeline %s failed by it: `understudy pipeline resume ID`."},
		{retry, " Handoff %s failed by it, its record is kept: `understudy handoff retry ID`."},
		{look, " Handoff %s failed by it, before its record: `understudy handoff show ID` says how to go on."},
		{fresh, " Start anew, for want of a session: agent %s, by `understudy agent start`."},
		{open, " Open sessions again: agent %s, by `" + resumeWords(open) + "`."},
	} {
		if len(next.ids) > 0 {
			fmt.Fprintf(&b, next.text, shortList(next.ids))
		}
	}
	b.WriteString(again.words())
	if p.Own {
		b.WriteString(" The next agent gets a new server.")
	}
	return "understudy: tmux server ended, and " + ended + " with it", b.String()
}

// resumeWords returns the command that opens the sessions of ended agents again.
func resumeWords(ids []string) string {
	if len(ids) == 1 {
		return "understudy agent resume " + ids[0]
	}
	return "understudy agent resume --all"
}

// sortedByAgent returns the events in the order of their agents' ids.
func sortedByAgent(group []event.Event) []*event.Event {
	var sorted []*event.Event
	for i := range group {
		sorted = append(sorted, &group[i])
	}
	id := func(e *event.Event) int64 {
		if e.AgentID == nil {
			return 0
		}
		return *e.AgentID
	}
	slices.SortStableFunc(sorted, func(a, b *event.Event) int { return cmp.Compare(id(a), id(b)) })
	return sorted
}

// agentName names the agent of an event by its id. In brackets follow the agent's name and more.
func agentName(e *event.Event, more string) string {
	return fmt.Sprintf("%d (%s)", *e.AgentID, words.Join(", ", payloadOf(e).Name, more))
}

// shortList lists the first 20 items and counts the others.
func shortList(items []string) string {
	const most = 20
	return words.List(items[:min(most, len(items))], len(items))
}
