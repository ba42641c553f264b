package agents

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/words"
)

// endedWithServer reports whether an agent ended with its tmux server, as all do when the machine goes down.
func endedWithServer(a *daemon.Agent) bool {
	return a.Died() && a.EndCode == daemon.EndedByServer
}

// IsNameOf reports whether FreeName has made a name from a persona's slug, so that nobody has given it.
func IsNameOf(name, slug string) bool {
	number, numbered := strings.CutPrefix(name, slug+"-")
	n, err := strconv.Atoi(number)
	return name == slug || numbered && err == nil && n > 1
}

var notPlain = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^a-z0-9]+`) })

// PlainName makes a name of a-z, 0-9 and - with at most limit bytes.
func PlainName(name string, limit int) string {
	name = strings.Trim(notPlain().ReplaceAllString(strings.ToLower(name), "-"), "-")
	if len(name) > limit {
		name = strings.Trim(name[:limit], "-")
	}
	return cmp.Or(name, "agent")
}

// takesPlaceOf reports whether the successor of a handoff takes the pane of its predecessor, which has ended.
func takesPlaceOf(h *daemon.Handoff, prev *daemon.Agent) bool {
	return h.InPlace && !prev.Active() && prev.Managed && prev.HasPane()
}

// PassedOn returns what an agent was asked, for its successor; "": nothing that goes on. A person has interrupted a turn of which no
// end was reported.
func PassedOn(a *daemon.Agent) string {
	if a.LastPrompt > a.LastStop && !a.HandingOver && a.TurnError == "" && a.Trouble == nil && a.Limit == nil {
		return ""
	}
	return a.Asked
}

// roundWords says where a step of a later round comes from, for its agent; "": it is the first round.
func roundWords(p *daemon.Pipeline, s *daemon.Step) string {
	if s.Round < 2 {
		return ""
	}
	text := fmt.Sprintf("This is round %d of your step: the work was sent back after an earlier round", s.Round)
	if from := p.CameFrom(s); from != nil && s.CameBy != "" {
		text += fmt.Sprintf(", by step %d (%s), because of %q", from.Number, from.AgentName, words.Line(s.CameBy))
	}
	return text + ". Take up what the earlier rounds have left, and say what has changed since."
}

// rulesTold says for each rule of a step, for its agent, where its words lead.
func rulesTold(p *daemon.Pipeline, s *daemon.Step) (list []string) {
	for _, rule := range s.Next {
		to := p.NewestOf(rule.Goto)
		if to == nil {
			continue
		}
		list = append(list, fmt.Sprintf("**## %s** contains the words \"%s\": step %d (%s) comes next", rule.When.Heading, rule.When.Contains, to.Number, to.AgentName))
	}
	return list
}
