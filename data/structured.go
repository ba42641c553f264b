package data

import "strings"

// Structured has the fields of a handoff document that a successor needs first. If the document lacks a field, the field
// is nil.
type Structured struct {
	WhatWasDone      *string `json:"what_was_done"`
	DecisionsMade    *string `json:"decisions_made"`
	OpenQuestions    *string `json:"open_questions"`
	NextAgentContext *string `json:"next_agent_context"`
}

// Empty reports whether no field has text.
func (s Structured) Empty() bool {
	for _, f := range s.fields() {
		if f.text() != "" {
			return false
		}
	}
	return true
}

// Header returns the text that a successor reads first: each field after its label, without a newline at the end. agent
// is the name of the agent that wrote the fields, or "" if the name is not known.
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
	key   string   // key of its heading; see appendKey
	label string   // label in the header
	value **string // the field of the struct
}

// text returns the trimmed text of the field, or "" if the document lacks the field.
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

// Extract returns the fields of a document. It finds them under the headings that the instruction asks for: What Was Done,
// Decisions Made, Open Questions and Next Agent Context. Extract compares only the letters and digits of a heading. A field
// is the trimmed text between its heading and the next heading of any kind, with "\n" at the end of each line. If a heading
// is repeated, Extract uses only the first one, even if no text is under it. ok is false if no field has text.
func Extract(document string) (s Structured, ok bool) {
	missing := map[string]field{}
	for _, f := range s.fields() {
		missing[f.key] = f
	}
	o := readOutline(document)
	var (
		current field // the field whose text begins at from; its value is nil under any other heading
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
