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
// Decisions Made, Open Questions and Next Agent Context, however a model has written them; see heading.go. A field is the
// trimmed text between its heading and the next heading of any kind, with "\n" at the end of each line. If a heading is
// repeated, Extract uses only the first one, even if no text is under it. ok is false if no field has text.
func Extract(document string) (s Structured, ok bool) {
	fields := s.fields()
	keys := make([]string, len(fields))
	for i, f := range fields {
		keys[i] = f.key
	}
	o := readOutline(document)
	for _, p := range o.parts(keys...) {
		if p.which < 0 || keys[p.which] == "" {
			continue
		}
		keys[p.which] = ""
		if text := o.under(p); text != "" {
			*fields[p.which].value = &text
		}
	}
	return s, !s.Empty()
}
