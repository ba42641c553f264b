package daemon

import (
	"encoding/json"
	"path/filepath"
	"slices"
)

// permission lets an agent read and write the files that we ourselves point it to, and nothing
// else. Agents that we started have rules for them; this is for those that a person started.
func (h *hookStep) permission() {
	var in struct {
		FilePath string `json:"file_path"`
	}
	if json.Unmarshal(h.p.ToolInput, &in) == nil && slices.Contains(h.pointedTo(in.FilePath), in.FilePath) {
		h.out.Output = json.RawMessage(`{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow"}}}`)
		return
	}
	h.beginWaiting()
}

// pointedTo are the files that the agent was told to use with the tool it asks for, in for one.
func (h *hookStep) pointedTo(in string) (paths []string) {
	a, hf := h.tx.Agent, h.tx.Handoff
	switch {
	case h.p.ToolName == "Read" && a.Persona != nil:
		paths = []string{filepath.Join(h.d.Data.Persona(*a.Persona), "skill.md"), experiencePath(h.d.Data, *a.Persona)}
		if hf != nil {
			paths = append(paths, hf.FilePath, requestPath(hf.FilePath))
		}
		if filepath.Dir(in) == h.d.Data.Handoffs(*a.Persona) && h.hasContent(in) {
			paths = append(paths, in) // one of the persona's documents, and no link to something else
		}
	case (h.p.ToolName == "Write" || h.p.ToolName == "Edit") && hf != nil:
		paths = []string{hf.FilePath, experiencePath(h.d.Data, hf.Persona)}
	}
	return paths
}
