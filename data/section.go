package data

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/understudyd/understudy/daemon/words"
)

// maxMessage is how many bytes of one message the context file has at most.
const maxMessage = 16_000

// section is a part of a context file that Render can shorten.
type section struct {
	title string
	items []string // the most important first
	list  bool     // the items are items of a Markdown list
	last  bool     // the file has the items in the opposite order, the most important last
	kept  int      // the file has the first kept items
	fits  bool     // the file has the section, perhaps without items

	// notes returns the sentences about the items that are left out if the file has only the first kept items.
	notes func(kept int) []string
}

// said returns the notes that the operator reads.
func (s section) said() []string {
	if len(s.items) == 0 {
		return nil
	}
	return s.notes(s.kept)
}

// text returns the text of the section in the file, with a blank line before it. It returns "" if the section does not fit.
func (s section) text() string {
	if !s.fits {
		return ""
	}
	var b strings.Builder
	b.WriteString(s.head(s.kept))
	for i := range s.kept {
		if s.last {
			i = s.kept - 1 - i
		}
		b.WriteString(s.items[i])
	}
	return b.String()
}

// head returns the part of the section before its items: the title, and the notes for the first kept items.
func (s section) head(kept int) string {
	var b strings.Builder
	if s.title != "" {
		b.WriteString("\n## " + s.title + "\n")
	}
	for _, note := range s.notes(kept) {
		if s.title == "" { // the section is at the start of the file
			b.WriteString("(" + note + ")\n\n")
		} else {
			b.WriteString("\n(" + note + ")\n")
		}
	}
	if kept > 0 && s.list {
		b.WriteByte('\n')
	}
	return b.String()
}

// size returns the length in bytes that the section has with its first kept items.
func (s section) size(kept int) int64 {
	n := int64(len(s.head(kept)))
	for _, item := range s.items[:kept] {
		n += int64(len(item))
	}
	return n
}

// fit chooses the items that go into the file: at most limit bytes in all, or all items if limit is 0. It fills the
// sections in their order. But it reserves room for each later section, so that the section can at least say that its
// items are missing.
func fit(sections []section, limit int64) {
	least := make([]int64, len(sections)) // of each section: its size without items or with all items, whichever is smaller
	var reserved int64
	for i, s := range sections {
		if len(s.items) > 0 {
			least[i] = min(s.size(0), s.size(len(s.items)))
			reserved += least[i]
		}
	}
	left := limit
	for i := range sections {
		s := &sections[i]
		if len(s.items) == 0 {
			continue
		}
		reserved -= least[i]
		switch n := s.most(left - reserved); {
		case limit <= 0:
			s.kept, s.fits = len(s.items), true
		case n >= 0:
			s.kept, s.fits = n, true
			left -= s.size(n)
		case least[i] <= left && s.size(0) <= left:
			s.fits = true
			left -= s.size(0)
		}
	}
}

// most returns how many items fit into room bytes. It returns -1 if the section does not fit even without items.
func (s section) most(room int64) int {
	size := s.size(len(s.items)) - int64(len(s.head(len(s.items))))
	for n := len(s.items); ; n-- {
		// For most n the items alone are too long. So compare them first, because it takes time to make the notes.
		if size <= room && size+int64(len(s.head(n))) <= room {
			return n
		}
		if n == 0 {
			return -1
		}
		size -= int64(len(s.items[n-1]))
	}
}

// missing returns the note which says how many of all items of a kind the file has. which is "" or such as "the last ".
func missing(kept, all int, which, kind string) []string {
	switch {
	case kept == all:
		return nil
	case kept == 0:
		return []string{fmt.Sprintf("There was no room for the %s, %d in all.", kind, all)}
	}
	return []string{fmt.Sprintf("There was room for %s%d of %d %s only.", which, kept, all, kind)}
}

func (c Context) header() section {
	var s section
	if c.Structured == nil || c.Structured.Empty() {
		return s
	}
	header := safe(c.Structured.Header(oneLine(c.Source))) + "\n\n"
	s.items = []string{header}
	s.notes = func(kept int) []string {
		if kept == 1 {
			return nil
		}
		return []string{"There was no room for the structured header; all of it is in the document."}
	}
	return s
}

// listed makes a section that is a list. kind names the items in the note about those without room.
func listed(title, kind string, items []string) section {
	notes := func(kept int) []string { return missing(kept, len(items), "", kind) }
	return section{title: title, list: true, items: items, notes: notes}
}

func (c Context) warnings() section {
	var items []string
	for _, warning := range c.Warnings {
		if text := oneLine(warning); text != "" {
			items = append(items, "- "+safe(text)+"\n")
		}
	}
	return listed("What could not be confirmed", "warnings", items)
}

func (c Context) decisions() section {
	var items []string
	for _, d := range c.Decisions {
		if text := d.item(); text != "" {
			items = append(items, text)
		}
	}
	return listed("Decisions so far", "decisions", items)
}

// item returns a decision as an item of a list, "" if the decision is empty.
func (d Decision) item() string {
	summary, rationale := oneLine(d.Summary), strings.TrimSpace(words.Text(d.Rationale))
	if summary == "" && rationale == "" {
		return ""
	}
	var b strings.Builder
	b.WriteString("- " + safe(by(summary, d.Agent, "", d.Timestamp)) + "\n")
	if rationale != "" {
		b.WriteString(quote(rationale, "  > "))
	}
	if files := codeSpans(d.RelatedArtifacts); files != "" {
		b.WriteString("  Files: " + safe(files) + "\n")
	}
	return b.String()
}

func (c Context) todos() section {
	var items []string
	for _, t := range c.Todos {
		text := oneLine(t.Text)
		if text != "" && t.Status == "in_progress" {
			text += " (in progress)"
		}
		if text != "" {
			items = append(items, "- "+safe(text)+"\n")
		}
	}
	return listed("Open todos", "open todos", items)
}

func (c Context) references() section {
	var items []string
	for _, r := range c.References {
		text := codeSpans([]string{r.Path})
		if note := oneLine(r.Note); note != "" && text != "" {
			text += ": " + note
		}
		if text != "" {
			items = append(items, "- "+safe(text)+"\n")
		}
	}
	return listed("Files touched", "files", items)
}

func conversation(title string, messages []Message) section {
	s := section{title: title, last: true}
	var shortened []int // shortened[i]: how many of the items 0 to i are shortened
	for _, m := range slices.Backward(messages) {
		text, cut := head(strings.TrimSpace(m.Text), maxMessage)
		if text = strings.TrimSpace(words.Text(text)); text == "" {
			continue
		}
		item := "\n### " + safe(by("", m.Agent, m.Role, m.At)) + "\n\n" + quote(text, "> ")
		so := 0
		if len(shortened) > 0 {
			so = shortened[len(shortened)-1]
		}
		if cut > 0 {
			item += fmt.Sprintf("\n(The message goes on for %d bytes.)\n", cut)
			so++
		}
		s.items, shortened = append(s.items, item), append(shortened, so)
	}
	s.notes = func(kept int) []string {
		notes := missing(kept, len(s.items), "the last ", "messages")
		if kept > 0 && shortened[kept-1] > 0 {
			notes = append(notes, fmt.Sprintf("Messages cut at %d bytes: %d.", maxMessage, shortened[kept-1]))
		}
		return notes
	}
	return s
}

// by returns what, followed by its author and its time in brackets. Each of them may be missing.
func by(what, agent, role string, at time.Time) string {
	var who []string
	for _, name := range []string{oneLine(agent), oneLine(role)} {
		if name != "" {
			who = append(who, name)
		}
	}
	if !at.IsZero() {
		who = append(who, at.UTC().Format("2006-01-02 15:04:05 UTC"))
	}
	from := strings.Join(who, ", ")
	switch {
	case what == "":
		return from
	case from == "":
		return what
	}
	return what + " (" + from + ")"
}

// head returns the start of a text, at most limit bytes, and how many bytes it leaves out.
func head(text string, limit int) (string, int) {
	if len(text) <= limit {
		return text, 0
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit], len(text) - limit
}

// oneLine returns a text as one line that does not begin a heading, a quotation, a list, a table or code.
func oneLine(text string) string {
	line := words.Line(text)
	for _, start := range []string{"#", ">", "```", "~~~", "- ", "+ ", "* ", "|"} {
		if strings.HasPrefix(line, start) {
			return `\` + line
		}
	}
	return line
}

// quote puts mark before each line of a text, so that no line looks like a heading or another part of our own text.
func quote(text, mark string) string {
	var b strings.Builder
	for _, line := range lines(safe(text)) {
		b.WriteString(strings.TrimRight(mark+line, " \t") + "\n")
	}
	return b.String()
}

// safe returns a text without hidden characters. It puts a backslash into each tag that looks like a tag of the document's
// wrapper.
func safe(text string) string {
	text = closingTag().ReplaceAllString(words.Text(text), `<${1}\/${2}${3}`)
	return openingTag().ReplaceAllString(text, `<\${1}${2}`)
}

// codeSpans writes names as Markdown code, even if there are backticks in them.
func codeSpans(names []string) string {
	var all []string
	for _, name := range names {
		name, _ = head(words.Line(name), maxPath)
		if name == "" {
			continue
		}
		ticks := "`"
		for strings.Contains(name, ticks) {
			ticks += "`"
		}
		if len(ticks) > 1 || strings.Trim(name, "`") != name {
			name = " " + name + " "
		}
		all = append(all, ticks+name+ticks)
	}
	return strings.Join(all, ", ")
}
