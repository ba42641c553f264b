package data

import (
	"bytes"
	"fmt"
	"regexp"
	"sync"
	"time"
)

const (
	contextOpen  = "<handoff-context>\n"
	contextClose = "</handoff-context>\n\nThe above is a handoff document from a previous session. " +
		"Use this context to continue the work seamlessly.\n"
)

var (
	// closingTag matches everything that a reader could take for the end of the wrapper: a closing tag in any letter
	// case, with visible or invisible blanks inside, with attributes, or cut off at the end of the document.
	closingTag = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)<([\s\p{Z}\p{Cf}]*)/([\s\p{Z}\p{Cf}]*handoff-context)([\s\p{Z}\p{Cf}/>]|$)`)
	})
	// openingTag matches everything that a reader could take for the start of the wrapper.
	openingTag = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)<([\s\p{Z}\p{Cf}]*handoff-context)([\s\p{Z}\p{Cf}/>]|$)`)
	})
)

// Context is the content of a context file. Agents and people wrote its texts. Render escapes the texts, so that no
// text can break out of its place in the file and look like a text of the daemon.
type Context struct {
	Source     string // name of the outgoing agent
	Structured *Structured
	Document   []byte
	Warnings   []string
	Decisions  []Decision
	Todos      []Todo
	References []Reference
	Messages   []Message // oldest first
	Earlier    []Message // of the sessions that the outgoing agent had before, oldest first
	MaxBytes   int64     // limit of everything except the document and its wrapper; 0 for no limit
}

// EarlierSessions is the heading of the messages of [Context.Earlier].
const EarlierSessions = "Earlier sessions of the agent"

// Message is one message of a conversation that the context file passes on.
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

// Todo is an item of the list that a session kept of what is still to be done.
type Todo struct {
	Text   string `json:"text"`
	Status string `json:"status"` // pending or in_progress
}

// Reference is a file that the work touched.
type Reference struct {
	Path string `json:"path"`           // relative to the working directory if the file is inside it
	Note string `json:"note,omitempty"` // what happened to it, such as "modified, +3 -1"
}

// Rendered is a rendered context file, and counts of what it contains.
type Rendered struct {
	Bytes                           []byte
	Messages, Decisions, References int      // how many the file contains
	Cut                             []string // sentences about items that were left out; they are in the file too, if they fit
}

// Render makes the context file: the structured header, the document in its wrapper, then the warnings, decisions,
// open todos, references, messages of earlier sessions and messages. If MaxBytes has no room for everything, Render takes the warnings first, then the header,
// the decisions, the todos and the references, each from its first item. It takes the messages last, from the newest one, and
// those of earlier sessions after the others, although they stand before them. The same Context always gives the same bytes.
func (c Context) Render() Rendered {
	sections := []section{c.warnings(), c.header(), c.decisions(), c.todos(), c.references(), conversation("Conversation before", c.Messages), conversation(EarlierSessions, c.Earlier)}
	fit(sections, c.MaxBytes)

	out := Rendered{Decisions: sections[2].kept, References: sections[4].kept, Messages: sections[5].kept + sections[6].kept}
	var b bytes.Buffer
	b.WriteString(sections[1].text())
	b.Write(RenderContext(c.Document))
	for _, i := range []int{0, 2, 3, 4, 6, 5} {
		b.WriteString(sections[i].text())
	}
	for _, s := range sections {
		out.Cut = append(out.Cut, s.said()...)
	}
	out.Bytes = b.Bytes()
	return out
}

// RenderContext wraps a handoff document for the successor. It puts a backslash before the slash of a closing tag
// inside the document, so that the document cannot end its own wrapper and look like a text of the daemon. If the
// document has no newline at its end, RenderContext adds one. It changes nothing else.
func RenderContext(document []byte) []byte {
	safe := closingTag().ReplaceAll(document, []byte(`<${1}\/${2}${3}`))
	var b bytes.Buffer
	b.Grow(len(contextOpen) + len(safe) + 1 + len(contextClose))
	b.WriteString(contextOpen)
	b.Write(safe)
	if !bytes.HasSuffix(safe, []byte("\n")) {
		b.WriteByte('\n')
	}
	b.WriteString(contextClose)
	return b.Bytes()
}

// RenderBasic returns the context file of a handoff whose context could not be assembled. It has the names of both
// agents and the path of the document.
func RenderBasic(source, target, document string) []byte {
	return fmt.Appendf(nil, "# Handoff\n\n- From: %s\n- To: %s\n- Handoff document: %s\n\n"+
		"The context of this handoff could not be assembled. Read the handoff document in full and go on from there.\n",
		orUnknown(source), orUnknown(target), orUnknown(document))
}

func orUnknown(name string) string {
	if name = safe(oneLine(name)); name == "" {
		return "unknown"
	}
	return name
}
