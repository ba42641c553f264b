package dashboard

import (
	"fmt"
	"html/template"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/deliveries"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/views"
	"github.com/understudyd/understudy/daemon/words"
	"github.com/understudyd/understudy/data/secrets"
)

// functions are the functions that templates can call.
var functions = template.FuncMap{
	"age":     func(now, t time.Time) string { return words.Age(now.Sub(t)) },
	"ages":    words.AgeUnits,
	"took":    words.Took,
	"between": func(from, to time.Time) string { return words.Took(to.Sub(from)) },
	"ms":      milliseconds,
	"msf":     func(ms float64) string { return words.Took(time.Duration(ms * float64(time.Millisecond))) },
	"span":    words.Span,
	"stamp":   words.Stamp,
	"utc":     func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") },
	"iso":     func(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) },
	"bytes":   words.Size,
	"ended":   func(reason *string) string { return event.EndWords(*reason) },
	"words":   func(name any) string { return words.Of(fmt.Sprint(reflect.Indirect(reflect.ValueOf(name)))) },
	"count":   words.Count[int],
	"dict":    dict,
	// preloads are the files that app.js imports. Without them a browser asks for these files only after it has read
	// app.js.
	"preloads": func() []string {
		return []string{"actions.js", "feed.js", "keys.js", "morph.js", "screen.js", "session.js"}
	},
	"markdown": markdown,
	"phase":    func(p daemon.Phase) string { return phaseWords[p] },
	"clip":     func(limit int, text string) string { return words.Clip(words.Page(secrets.Mask(text)), limit) },
	"inc":      func(n int) int { return n + 1 },
	"add":      func(a, b int) int { return a + b },
	"sub":      func(a, b int) int { return a - b },
	"secs":     secs,
	"stands":   heirStands,
	"asks":     asks,

	"asksNobody": views.AsksNobody, "troubleHint": views.TroubleHint, "limitChoices": views.LimitChoices,
	"contextWords": views.ContextWords, "inFull": views.ContextInFull,
	"missing": views.MissingWords, "runsOn": views.RunsOn, "ways": views.Ways,
	"cancellable": func(a *daemon.Agent, dl *daemon.Delivery) bool { return deliveries.CheckCancel(a, dl) == nil },
}

// dict makes a map of pairs: names and values in turn. With it a template can be called with several values.
func dict(pairs ...any) map[string]any {
	out := map[string]any{}
	for i := 0; i+1 < len(pairs); i += 2 {
		out[fmt.Sprint(pairs[i])] = pairs[i+1]
	}
	return out
}

// asks reports whether an agent needs a person for the permissions that stand on its card, so that these say why.
func asks(n *views.Attention) bool {
	return len(n.Permissions) > 0 && strings.HasPrefix(n.Brief, "permission for ")
}

// heirStands says how far an heir has come.
func heirStands(phase daemon.Phase) string {
	switch phase {
	case "":
		return "not started"
	case daemon.Completed:
		return "has its briefing"
	}
	return words.Of(phase)
}

// phases are the phases of a handoff in its mode and with its heirs, in order.
func phases(h *daemon.Handoff) []daemon.Phase {
	others := []daemon.Phase{daemon.Generating}
	if h.Mode != daemon.ModeAgent {
		others = []daemon.Phase{daemon.Instructing, daemon.AwaitingDocument}
	}
	switch {
	case !h.HeirsFirst():
		others = append(others, daemon.BriefingHeirs)
	case h.Keep:
		others = append(others, daemon.ShuttingDown)
		fallthrough
	default:
		others = append(others, daemon.Spawning, daemon.AwaitingRegistration, daemon.InjectingSkill, daemon.Briefing)
	}
	return slices.DeleteFunc(daemon.OpenPhases(), func(p daemon.Phase) bool { return slices.Contains(others, p) })
}

// phaseWords say what happens in a phase.
var phaseWords = map[daemon.Phase]string{
	daemon.Requested:            "the daemon prepares it",
	daemon.Instructing:          "the daemon asks the agent to write its handoff document",
	daemon.AwaitingDocument:     "the agent writes the document",
	daemon.Generating:           "a copy of the agent's session writes the document",
	daemon.Verifying:            "the daemon checks the document and assembles the context",
	daemon.Recorded:             "the database keeps the document and the context; from here on the agent can be ended",
	daemon.BriefingHeirs:        "the daemon starts the heirs and sends each the injection prompt",
	daemon.ShuttingDown:         "the daemon asks the agent to exit and waits for its end",
	daemon.Spawning:             "the daemon makes the successor's pane",
	daemon.AwaitingRegistration: "the successor's session starts",
	daemon.InjectingSkill:       "the successor gets its persona's skill",
	daemon.Briefing:             "the daemon sends the successor the injection prompt",
}

// idWatch makes the word of Page.Watch for the events of one agent, handoff or pipeline.
func idWatch(kind string, id int64) string { return fmt.Sprintf("%s:%d", kind, id) }
