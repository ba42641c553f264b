package runtimes

// Place says where a line of a transcript stands in a conversation that a person can take back to an earlier point. The
// runtimes only append, so the lines of a branch that was taken back stay in the file.
//
// Claude Code and oh-my-pi keep a tree: a line has an ID and names its Parent, and the conversation is the way from the
// newest line to the first one. Codex and Gemini CLI write a line that takes others back. The zero value is a line without a
// place: it belongs to the conversation if the lines around it do.
type Place struct {
	ID     string   // of this line in the tree; "": the line is not in a tree
	Parent string   // the line that this one follows; "": this one is the first, or Gap is true
	Gap    bool     // the line follows another one and does not say which: the one before it in the file
	Kept   []string // of a compaction: earlier lines that stayed in the context, so that later lines may follow these
	Result bool     // the line has results of tools: it may follow another answer than the line behind it says
	Tip    *string  // the line that the next one will follow, after a person took others back; "": there is none
	Turns  int      // how many of the newest prompts are taken back, with all that came after the oldest of them
	From   string   // this message is taken back, with all that came after it
	Name   string   // what the From of a later line calls this message
}

// placeFields are the fields by which Claude Code says where a line stands.
type placeFields struct {
	id, parent, logical string
	named               bool // the line names a parent, or that it has none
	tip                 *string
	rewound             bool // a person went to the tip
	explicit            bool // the CLI is to go on at the tip, whatever else the file has; without a tip this says nothing
	kept                []string
}

// place returns where a line of Claude Code's form stands.
func (l *transcriptLine) place() Place {
	f := &l.tree
	switch {
	case l.kind == "last-prompt" && f.tip != nil && (f.rewound || f.explicit && *f.tip != ""):
		return Place{Tip: f.tip}
	case f.id == "" || !f.named:
		return l.taken
	}
	p := Place{ID: f.id, Parent: f.parent, Kept: f.kept, Result: l.kind == "user" && len(l.message.done)+len(l.message.failed) > 0}
	if p.Parent == "" {
		p.Parent = f.logical
	}
	// Only a person's prompt can begin a conversation anew, or what a hook or the CLI has put before one.
	p.Gap = p.Parent == "" && (l.kind == "assistant" || l.summary || p.Result || l.kind == "system" && l.subtype == "compact_boundary")
	return p
}

// readKept reads which lines a compaction kept in the context.
func (f *placeFields) readKept(s *skim, key string) {
	switch key {
	case "preservedMessages":
		s.object(func(key string) {
			if key == "uuids" || key == "allUuids" {
				s.array(func() { f.kept = append(f.kept, s.text()) })
			}
		})
	case "preservedSegment":
		s.object(func(key string) {
			if key == "tailUuid" {
				f.kept = append(f.kept, s.text())
			}
		})
	}
}
