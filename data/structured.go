package data

import "strings"

// Structured are the fields that a successor needs first, taken out of a handoff document. A field
// that the document does not have is nil.
type Structured struct {
	WhatWasDone      *string `json:"what_was_done"`
	DecisionsMade    *string `json:"decisions_made"`
	OpenQuestions    *string `json:"open_questions"`
	NextAgentContext *string `json:"next_agent_context"`
}

// Extractor takes the structured fields out of a document. It keeps no state, logs nothing and may
// be used by several goroutines; ok is false when it found nothing.
type Extractor interface {
	Extract(document string) (s Structured, ok bool)
}

// ByHeading finds the fields under the headings that the instruction asks for: What Was Done,
// Decisions Made, Open Questions and Next Agent Context, however they are spelt beyond their
// letters. A field is what stands between its heading and the next one of any kind, trimmed, with
// line ends of "\n". Of a heading that is repeated the first counts, even with nothing under it.
var ByHeading Extractor = byHeading{}

// Chain asks one extractor after the other until one finds something.
func Chain(extractors ...Extractor) Extractor { return chain(extractors) }

// Empty reports whether there is no field with text.
func (s Structured) Empty() bool {
	for _, f := range s.fields() {
		if f.text() != "" {
			return false
		}
	}
	return true
}

// Header is what a successor is told first: the fields under their labels, without a newline at
// the end. agent is the name of who wrote them, "" if nobody knows.
func (s Structured) Header(agent string) string {
	blocks := []string{"## Handoff from previous step"}
	if agent != "" {
		blocks[0] += " (" + agent + ")"
	}
	for _, f := range s.fields() {
		if f.text() != "" {
			blocks = append(blocks, f.label+**f.value)
		}
	}
	return strings.Join(blocks, "\n\n")
}

// field is one field of a Structured.
type field struct {
	name  string   // in JSON
	key   string   // of its heading; see appendKey
	label string   // in the header
	value **string // where it is kept
}

// text is the trimmed text of the field, "" if there is none.
func (f field) text() string {
	if *f.value == nil {
		return ""
	}
	return strings.TrimSpace(**f.value)
}

func (s *Structured) fields() []field {
	return []field{
		{"what_was_done", "whatwasdone", "**What was done**: ", &s.WhatWasDone},
		{"decisions_made", "decisionsmade", "**Decisions made**:\n", &s.DecisionsMade},
		{"open_questions", "openquestions", "**Open questions**:\n", &s.OpenQuestions},
		{"next_agent_context", "nextagentcontext", "**Your task**: ", &s.NextAgentContext},
	}
}

type byHeading struct{}

func (byHeading) Extract(document string) (Structured, bool) {
	var s Structured
	missing := map[string]field{}
	for _, f := range s.fields() {
		missing[f.key] = f
	}
	o := readOutline(document)
	var (
		current field // whose text begins at from; without a place for it: nobody's
		from    int
		key     [64]byte
	)
	collect := func(end int) {
		if current.value == nil {
			return
		}
		if text := strings.TrimSpace(o.text[from:end]); text != "" {
			*current.value = &text
		}
	}
	for h := range o.headings() {
		collect(h.start)
		name := appendKey(key[:0], h.title)
		current, from = missing[string(name)], h.end
		if current.value != nil {
			delete(missing, string(name))
		}
	}
	collect(len(o.text))
	return s, !s.Empty()
}

type chain []Extractor

func (c chain) Extract(document string) (Structured, bool) {
	for _, e := range c {
		if s, ok := e.Extract(document); ok {
			return s, true
		}
	}
	return Structured{}, false
}
