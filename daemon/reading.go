package daemon

import (
	"strings"
)

// NotesReading reports whether the daemon looks in an agent's transcript for its reading of the handoff.
func (a *Agent) NotesReading() bool { return a.Reading }

// ToRead returns the files that the injection prompt tells the successor to read. If it names none, it carries the document
// itself, and the successor has read it when its transcript shows the prompt.
func (h *Handoff) ToRead() []string {
	paths := []string{}
	for _, path := range []*string{&h.FilePath, h.ContextPath} {
		if path != nil && h.InjectionPrompt != nil && strings.Contains(*h.InjectionPrompt, *path) {
			paths = append(paths, *path)
		}
	}
	return paths
}

// NoteReading fills in when the handoff's successors read the document. The handoff's ReadAt is that of the last one to read
// it; its UnreadAt that of the first one that has not.
func (h *Handoff) NoteReading(agents map[int64]*Agent) {
	h.ReadAt, h.UnreadAt = nil, nil
	all := true
	for i := range h.Heirs {
		heir := &h.Heirs[i]
		if heir.AgentID == nil || agents[*heir.AgentID] == nil {
			all = false
			continue
		}
		a := agents[*heir.AgentID]
		switch heir.ReadAt = a.ReadAt; {
		case heir.ReadAt == nil:
			all, heir.UnreadAt = false, a.UnreadAt
			if heir.UnreadAt != nil && (h.UnreadAt == nil || heir.UnreadAt.Before(*h.UnreadAt)) {
				h.UnreadAt = heir.UnreadAt
			}
		case h.ReadAt == nil || heir.ReadAt.After(*h.ReadAt):
			h.ReadAt = heir.ReadAt
		}
	}
	if !all {
		h.ReadAt = nil
	}
}
