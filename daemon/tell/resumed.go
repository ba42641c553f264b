package tell

import (
	"fmt"
	"strings"

	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/words"
)

// resumed is what the daemon itself did after its start for agents that had died.
type resumed struct {
	of        map[int64]bool // the ended agents that were seen to
	went, not []string       // whose sessions were opened again, and whose were not
}

// resumedOf reads it from a group of events.
func resumedOf(group []event.Event) resumed {
	r := resumed{of: map[int64]bool{}}
	for _, e := range sortedByAgent(group) {
		about := payloadOf(e)
		switch {
		case e.AgentID == nil:
			continue
		case e.Type == event.AgentResumed:
			r.went = append(r.went, fmt.Sprintf("%d (%s) as %d", *e.AgentID, about.Name, about.By))
		case e.Type == event.AgentNotResumed:
			r.not = append(r.not, fmt.Sprintf("%d (%s): %s", *e.AgentID, about.Name, words.TrimDot(about.Why)))
		default:
			continue
		}
		r.of[*e.AgentID] = true
	}
	return r
}

// words says it in sentences, each of which begins with a blank.
func (r *resumed) words() string {
	var b strings.Builder
	if len(r.went) > 0 {
		fmt.Fprintf(&b, " The daemon has opened %s again: agent %s.", words.Count(len(r.went), "session"), shortList(r.went))
	}
	if len(r.not) > 0 {
		fmt.Fprintf(&b, " It has not opened %s again: agent %s.", words.Count(len(r.not), "session"), shortList(r.not))
	}
	return b.String()
}

// resumedText returns the notification for agents that had died, and that the daemon itself saw to after its start.
func resumedText(group []event.Event) (title, message string) {
	r := resumedOf(group)
	message = strings.TrimSpace(r.words())
	if len(r.went) == 0 {
		return fmt.Sprintf("understudy: %s not opened again", words.Count(len(r.not), "session")), strings.Replace(message, "It", "The daemon", 1)
	}
	title = fmt.Sprintf("understudy: %s opened again", words.Count(len(r.went), "session"))
	if len(r.not) > 0 {
		title += fmt.Sprintf(", %d not", len(r.not))
	}
	return title, message
}
