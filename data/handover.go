package data

import "time"

// Message is one message of a conversation that is passed on.
type Message struct {
	Agent string    `json:"agent"` // name of the agent whose session it was
	Role  string    `json:"role"`  // user or assistant
	Text  string    `json:"text"`
	At    time.Time `json:"at"`
}

// Decision is one decision that an agent made.
type Decision struct {
	Agent            string    `json:"agent"` // its name
	Summary          string    `json:"summary"`
	Rationale        string    `json:"rationale"`
	Timestamp        time.Time `json:"timestamp"`
	RelatedArtifacts []string  `json:"related_artifacts"`
}

// Reference is a file that the work touched.
type Reference struct {
	Path string `json:"path"`           // relative to the working directory where it is inside
	Note string `json:"note,omitempty"` // what happened to it, such as "modified, +3 -1"
}
