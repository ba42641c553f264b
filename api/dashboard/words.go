package dashboard

import (
	"fmt"
	"html/template"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/understudyd/understudy/daemon"
)

// functions are what templates can call.
var functions = template.FuncMap{
	"age":      func(now, t time.Time) string { return age(now.Sub(t)) },
	"duration": duration,
	"between":  func(from, to time.Time) string { return duration(to.Sub(from)) },
	"ms":       func(ms int64) string { return duration(time.Duration(ms) * time.Millisecond) },
	"stamp":    func(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05 MST") },
	"iso":      func(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) },
	"bytes":    bytesWords,
	"tokens":   tokens,
	"words":    words,
	"plural":   plural,
	"dict":     dict,
	// What app.js imports: else browsers ask for it only once they have read that.
	"preloads": func() []string { return []string{"actions.js", "feed.js", "morph.js", "screen.js", "session.js"} },
	"markdown": markdown,
	"phase":    func(p daemon.Phase) string { return phaseWords[p] },
	"clip":     clip,
	"inc":      func(n int) int { return n + 1 },
	"percent":  func(f *float64) int { return percent(f) },
}

// dict gives a template that is called several values, each after its name.
func dict(pairs ...any) map[string]any {
	out := map[string]any{}
	for i := 0; i+1 < len(pairs); i += 2 {
		out[fmt.Sprint(pairs[i])] = pairs[i+1]
	}
	return out
}

// age is a span of time as it is said: by its largest unit, or two. app.js counts on in the same words.
func age(d time.Duration) string {
	switch d = max(d, 0); {
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%d days", int(d.Hours()/24))
}

// duration is how long something took, exactly enough to compare.
func duration(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return age(d)
}

func bytesWords(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprintf("%d bytes", n)
	case n < 1000_000:
		return fmt.Sprintf("%.1f kB", float64(n)/1000)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1000_000)
}

// tokens counts in thousands, as context windows are.
func tokens(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprint(n)
	case n < 1000_000:
		return fmt.Sprintf("%dk", n/1000)
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", float64(n)/1e6), ".0") + "M"
}

// words writes a name of the API as people do: awaiting_document is awaiting document.
func words(name any) string {
	return strings.ReplaceAll(fmt.Sprint(reflect.Indirect(reflect.ValueOf(name))), "_", " ")
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

func percent(f *float64) int {
	if f == nil {
		return 0
	}
	return int(*f + 0.5)
}

// phases are those that a handoff goes through, in order.
func phases(mode string) []daemon.Phase {
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

// clip cuts a text to limit runes, the last of which then says so.
func clip(limit int, text string) string {
	for at := range text {
		if limit--; limit < 0 {
			return text[:at] + "…"
		}
	}
	return text
}

// idWatch has a page follow one thing.
func idWatch(kind string, id int64) string { return fmt.Sprintf("%s:%d", kind, id) }
