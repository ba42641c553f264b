package dashboard

import (
	"fmt"
	"html/template"
	"reflect"
	"slices"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/words"
)

// functions are what templates can call.
var functions = template.FuncMap{
	"age":     func(now, t time.Time) string { return words.Age(now.Sub(t)) },
	"ages":    words.AgeUnits,
	"took":    words.Took,
	"between": func(from, to time.Time) string { return words.Took(to.Sub(from)) },
	"ms":      func(ms int64) string { return words.Took(time.Duration(ms) * time.Millisecond) },
	"span":    words.Span,
	"stamp":   words.Stamp,
	"iso":     func(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) },
	"bytes":   words.Size,
	"words":   func(name any) string { return words.Of(fmt.Sprint(reflect.Indirect(reflect.ValueOf(name)))) },
	"count":   words.Count[int],
	"dict":    dict,
	// What app.js imports: else browsers ask for it only once they have read that.
	"preloads": func() []string { return []string{"actions.js", "feed.js", "morph.js", "screen.js", "session.js"} },
	"markdown": markdown,
	"phase":    func(p daemon.Phase) string { return phaseWords[p] },
	"clip":     func(limit int, text string) string { return words.Clip(words.Page(text), limit) },
	"inc":      func(n int) int { return n + 1 },
}

// dict gives a template that is called several values, each after its name.
func dict(pairs ...any) map[string]any {
	out := map[string]any{}
	for i := 0; i+1 < len(pairs); i += 2 {
		out[fmt.Sprint(pairs[i])] = pairs[i+1]
	}
	return out
}

// phases are those that a handoff goes through, in order.
func phases(mode daemon.Mode) []daemon.Phase {
	others := []daemon.Phase{daemon.Generating}
	if mode == daemon.ModeGenerate {
		others = []daemon.Phase{daemon.Instructing, daemon.AwaitingDocument}
	}
	return slices.DeleteFunc(daemon.OpenPhases(), func(p daemon.Phase) bool { return slices.Contains(others, p) })
}

// phaseWords say what is done in a phase, or waited for.
var phaseWords = map[daemon.Phase]string{
	daemon.Requested:            "it is prepared",
	daemon.Instructing:          "the agent is asked to write its handoff document",
	daemon.AwaitingDocument:     "the agent writes the document",
	daemon.Generating:           "a copy of its session writes the document",
	daemon.Verifying:            "the document is checked, and the context put together",
	daemon.Recorded:             "everything is kept in the database; nothing was shut down before",
	daemon.ShuttingDown:         "the agent is asked to exit, and ends",
	daemon.Spawning:             "the successor's pane is made",
	daemon.AwaitingRegistration: "the successor's session starts",
	daemon.InjectingSkill:       "the successor gets its persona's skill",
	daemon.Briefing:             "the successor is told what it takes over",
}

// idWatch has a page follow one thing.
func idWatch(kind string, id int64) string { return fmt.Sprintf("%s:%d", kind, id) }
