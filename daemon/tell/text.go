package tell

import (
	"encoding/json"
	"fmt"

	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/words"
)

// AlertText returns the notification for one event. message says what happened and what to do next; it is "" if the
// event's payload has no message.
func AlertText(e *event.Event) (title, message string) {
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
