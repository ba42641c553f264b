package api

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/words"
)

// markdownExport writes a report with a table for each day in UTC.
type markdownExport struct {
	day   string // the day of the current table
	count int
}

func (*markdownExport) head(f daemon.AuditFilter, at time.Time) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# The log of understudy\n\nMade on %s, newest first, times in UTC.\n", at.Format(time.DateTime))
	row := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "\n- %s: %s", name, markdownText(value))
		}
	}
	id := func(n int64) string {
		if n == 0 {
			return ""
		}
		return fmt.Sprint(n)
	}
	moment := func(t time.Time) string {
		if t.IsZero() {
			return ""
		}
		return t.UTC().Format(time.RFC3339)
	}
	row("types", strings.Join(f.Types, ", "))
	row("types that begin with", f.TypePrefix)
	row("agent", id(f.AgentID))
	row("handoff", id(f.HandoffID))
	row("pipeline", id(f.PipelineID))
	row("host", f.Host)
	row("persona", f.Persona)
	row("since", moment(f.Since))
	row("until", moment(f.Until))
	row("containing", f.Text)
	return b.Bytes()
}

func (m *markdownExport) events(page []event.Event) ([]byte, error) {
	var b bytes.Buffer
	for i := range page {
		e := &page[i]
		at := e.At.UTC()
		if day := at.Format(time.DateOnly); day != m.day {
			m.day = day
			fmt.Fprintf(&b, "\n\n## %s\n\n| time | id | event | what happened | host |\n|---|---|---|---|---|", day)
		}
		fmt.Fprintf(&b, "\n| %s | %d | %s | %s | %s |", at.Format("15:04:05.000"), e.ID, markdownText(string(e.Type)), markdownText(e.Words()), markdownText(e.Host))
		m.count++
	}
	return b.Bytes(), nil
}

func (m *markdownExport) end() []byte {
	return fmt.Appendf(nil, "\n\n%s\n", words.Count(m.count, "event"))
}

// markdownText escapes a text, so that Markdown shows it unchanged and on one line, even in a table. The result contains
// no markup, HTML, link or mention. Characters with a meaning in HTML are not escaped but replaced, so that even a
// renderer that ignores escapes finds no HTML.
func markdownText(s string) string {
	var b strings.Builder
	s = words.Line(s)
	for i, r := range s {
		switch {
		case r == '&':
			b.WriteString("&amp;")
		case r == '<':
			b.WriteString("&lt;")
		case r == '>':
			b.WriteString("&gt;")
		case r == '|':
			b.WriteString("&#124;")
		case r == '"':
			b.WriteString("&quot;")
		case r == '@':
			b.WriteString("@\u2060") // add a word joiner: no address and no user name contains that character
		case strings.ContainsRune("\\`*_{}[]()#+!~$^=", r), r == '.' && !ends(s[i+1:]), r == ':' && !ends(s[i+1:]):
			b.WriteByte('\\')
			b.WriteRune(r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// ends reports whether a word ends before rest. A dot or a colon at the end of a word is not part of an address.
func ends(rest string) bool { return rest == "" || rest[0] == ' ' }
