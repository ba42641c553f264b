package daemon

import (
	"encoding/json"
	"fmt"
	"regexp"
	"sync"

	"github.com/understudyd/understudy/daemon/words"
)

// alertText words what the operator is told of an event: what happened, and what to do next.
func alertText(e *Event) (title, message string) {
	var p struct {
		Message string `json:"message"`
	}
	_ = json.Unmarshal(e.Payload, &p) // an event without a message still has its type
	what := words.Of(e.Type)
	switch {
	case e.HandoffID != nil:
		title = fmt.Sprintf("understudy: %s (handoff %d)", what, *e.HandoffID)
	case e.PipelineID != nil && !e.Type.About("agent"):
		title = fmt.Sprintf("understudy: %s (pipeline %d)", what, *e.PipelineID)
	case e.AgentID != nil:
		title = fmt.Sprintf("understudy: %s (agent %d)", what, *e.AgentID)
	default:
		title = "understudy: " + what
	}
	return title, p.Message
}

// quoted is what an agent's pane shows, as it stands in a sentence: between these marks.
var quoted = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`‹[^›]*›`) })

// withoutScreen takes what a pane shows out of a sentence: it is for the operator's eyes, and what
// it may contain must not enter a log.
func withoutScreen(message string) string { return quoted().ReplaceAllString(message, "‹…›") }

// mustJSON marshals values that cannot fail to: maps, strings and numbers of our own.
func mustJSON(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic("daemon: event payload: " + err.Error())
	}
	return b
}
