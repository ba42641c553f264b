package data

import (
	"bytes"
	"fmt"
	"regexp"
	"sync"
)

const (
	contextOpen  = "<handoff-context>\n"
	contextClose = "</handoff-context>\n\nThe above is a handoff document from a previous session. " +
		"Use this context to continue the work seamlessly.\n"
)

var (
	// closingTag finds whatever a reader could take for the end of the wrapper: in any case, with
	// visible or invisible blanks inside, with attributes, or cut off at the end of the document.
	closingTag = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)<([\s\p{Z}\p{Cf}]*)/([\s\p{Z}\p{Cf}]*handoff-context)([\s\p{Z}\p{Cf}/>]|$)`)
	})
	// openingTag finds what could be taken for its beginning.
	openingTag = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)<([\s\p{Z}\p{Cf}]*handoff-context)([\s\p{Z}\p{Cf}/>]|$)`)
	})
)

// Context is what goes into a context file. Texts in it are those of agents and people: none of
// them can end the place where it stands and speak as us.
type Context struct {
	Source     string // name of the outgoing agent
	Structured *Structured
	Document   []byte
	Warnings   []string
	Decisions  []Decision
	References []Reference
	Messages   []Message // oldest first
	MaxBytes   int64     // of all that stands beside the document and its wrapper; 0 for no limit
}

// Rendered is a context file and what is in it.
type Rendered struct {
	Bytes                           []byte
	Messages, Decisions, References int      // how many are in it
	Cut                             []string // what was left out, a sentence for each kind; they stand in the file too, if they fit
}

// Render makes the context file: the structured header, the document in its wrapper, then what
// could not be confirmed, decisions, files and messages. When there is not room for all, the
// warnings go first, then the header, the decisions and the references, each from the front, and
// the messages from the end. The same Context gives the same bytes.
func (c Context) Render() Rendered {
	sections := []section{c.warnings(), c.header(), c.decisions(), c.references(), c.messages()}
	fit(sections, c.MaxBytes)

	out := Rendered{Decisions: sections[2].kept, References: sections[3].kept, Messages: sections[4].kept}
	var b bytes.Buffer
	b.WriteString(sections[1].text())
	b.Write(RenderContext(c.Document))
	for i, s := range sections {
		if i != 1 {
			b.WriteString(s.text())
		}
		out.Cut = append(out.Cut, s.said()...)
	}
	out.Bytes = b.Bytes()
	return out
}

// RenderContext wraps a handoff document for the successor. A closing tag inside it gets a
// backslash before its slash, so that the document can't end its own wrapper and speak as us;
// no other byte is touched, but for the newline at the end that is added if missing.
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

// RenderBasic is the context of a handoff whose context could not be assembled: the names of both
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
