package daemon

import (
	"time"

	"github.com/understudyd/understudy/data"
)

// Record holds everything that a handoff passed on, so that a retry can pass it on again. It is stored beside the
// handoff's row, by the move to recorded.
type Record struct {
	HandoffID  int64            `json:"handoff_id"`
	AgentID    int64            `json:"agent_id"`   // the outgoing agent
	Agent      string           `json:"agent"`      // its name
	Persona    string           `json:"persona"`    // the persona that the agent played
	Document   string           `json:"document"`   // as it was when it was verified
	Context    string           `json:"context"`    // the content of the context file
	Messages   []data.Message   `json:"messages"`   // of this agent's session only, the oldest first
	Decisions  []data.Decision  `json:"decisions"`  // of this document only
	Todos      []data.Todo      `json:"todos"`      // what this agent's session still had to do, by its own list
	References []data.Reference `json:"references"` // the files that this agent touched
	// Progress says that the agent touched a file, committed or decided something.
	Progress bool      `json:"progress"`
	At       time.Time `json:"at"`
}
