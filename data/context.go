package data

import (
	"bytes"
	"regexp"
)

const (
	contextOpen  = "<handoff-context>\n"
	contextClose = "</handoff-context>\n\nThe above is a handoff document from a previous session. " +
		"Use this context to continue the work seamlessly.\n"
)

// closingTag finds whatever a reader could take for the end of the wrapper: in any case, with
// visible or invisible blanks inside, with attributes, or cut off at the end of the document.
var closingTag = regexp.MustCompile(`(?i)<([\s\p{Z}\p{Cf}]*)/([\s\p{Z}\p{Cf}]*handoff-context)([\s\p{Z}\p{Cf}/>]|$)`)

// RenderContext wraps a handoff document for the successor. A closing tag inside it gets a
// backslash before its slash, so that the document can't end its own wrapper and speak as us;
// no other byte is touched, but for the newline at the end that is added if missing.
func RenderContext(document []byte) []byte {
	safe := closingTag.ReplaceAll(document, []byte(`<${1}\/${2}${3}`))
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
