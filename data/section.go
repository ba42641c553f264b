package data

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/understudyd/understudy/daemon/words"
)

// maxMessage is how much of one message is passed on, in bytes.
const maxMessage = 16_000

// section is a part of a context file that may be there in part.
type section struct {
	title string
	items []string // in the order of their worth
	list  bool     // they are items of a list
	last  bool     // they stand in the file in the opposite order
	kept  int      // how many of them are in the file
	fits  bool     // the section is in the file, be it without items

	// notes are the sentences about what is left out when the first kept items are in the file.
	notes func(kept int) []string
}

// said is what the operator reads about what is not in the section.
func (s section) said() []string {
	if len(s.items) == 0 {
		return nil
	}
	return s.notes(s.kept)
}

// text is the section as it stands in the file, with a blank line before it; "" without one.
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

// head is what stands before the items if the first kept are in the file.
func (s section) head(kept int) string {
	var b strings.Builder
	if s.title != "" {
		b.WriteString("\n## " + s.title + "\n")
	}
	for _, note := range s.notes(kept) {
		if s.title == "" { // at the start of the file
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

// size is that of the text in bytes, if the first kept items are in the file.
func (s section) size(kept int) int64 {
	n := int64(len(s.head(kept)))
	for _, item := range s.items[:kept] {
		n += int64(len(item))
	}
	return n
}

// fit chooses what goes into the file, limit bytes in all, 0 for no limit. The first sections come
// first, but each leaves the later ones room to say that something is missing.
func fit(sections []section, limit int64) {
	least := make([]int64, len(sections)) // of each, if something is in the file
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

// most is how many items fit into room, in bytes; -1 if not even the section without any does.
func (s section) most(room int64) int {
	size := s.size(len(s.items)) - int64(len(s.head(len(s.items))))
	for n := len(s.items); ; n-- {
		// The items alone are too many for most n: then there is no need to write the notes.
		if size <= room && size+int64(len(s.head(n))) <= room {
			return n
		}
		if n == 0 {
			return -1
		}
		size -= int64(len(s.items[n-1]))
	}
}

// missing is the note about how many of the items of a kind are in the file.
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

func (c Context) warnings() section {
	s := section{title: "What could not be confirmed", list: true}
	for _, warning := range c.Warnings {
		if text := oneLine(warning); text != "" {
			s.items = append(s.items, "- "+safe(text)+"\n")
		}
	}
	s.notes = func(kept int) []string {
		return missing(kept, len(s.items), "", "warnings")
	}
	return s
}

func (c Context) decisions() section {
	s := section{title: "Decisions so far", list: true}
	for _, d := range c.Decisions {
		if text := d.item(); text != "" {
			s.items = append(s.items, text)
		}
	}
	s.notes = func(kept int) []string {
		return missing(kept, len(s.items), "", "decisions")
	}
	return s
}

// item is a decision in a list; "" if it says nothing.
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

func (c Context) references() section {
	s := section{title: "Files touched", list: true}
	for _, r := range c.References {
		text := codeSpans([]string{r.Path})
		if note := oneLine(r.Note); note != "" && text != "" {
			text += ": " + note
		}
		if text != "" {
			s.items = append(s.items, "- "+safe(text)+"\n")
		}
	}
	s.notes = func(kept int) []string {
		return missing(kept, len(s.items), "", "files")
	}
	return s
}

func (c Context) messages() section {
	s := section{title: "Conversation before", last: true}
	var shortened []int // how many of the first n items are
	for i := len(c.Messages) - 1; i >= 0; i-- {
		m := c.Messages[i]
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

// by puts together what is said, who said it and when; any may be missing.
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

// head is the start of a text, at most limit bytes, and how many bytes are left out.
func head(text string, limit int) (string, int) {
	if len(text) <= limit {
		return text, 0
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit], len(text) - limit
}

// oneLine is a text in one line that begins no heading, quotation, list or code.
func oneLine(text string) string {
	line := words.Line(text)
	for _, start := range []string{"#", ">", "```", "~~~", "- ", "+ ", "* ", "|"} {
		if strings.HasPrefix(line, start) {
			return `\` + line
		}
	}
	return line
}

// quote marks each line of a text as quoted, so that nothing in it is structure of ours.
func quote(text, mark string) string {
	var b strings.Builder
	for _, line := range lines(safe(text)) {
		b.WriteString(strings.TrimRight(mark+line, " \t") + "\n")
	}
	return b.String()
}

// safe is a text without hidden characters in which no tag of the document's wrapper counts.
func safe(text string) string {
	text = closingTag().ReplaceAllString(words.Text(text), `<${1}\/${2}${3}`)
	return openingTag().ReplaceAllString(text, `<\${1}${2}`)
}

// codeSpans writes names as code, whatever backticks are in them.
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
