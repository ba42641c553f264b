package daemon

import (
	"encoding/json"
	"path/filepath"
	"slices"
)

// permission applies a PermissionRequest. It allows an agent to use the files that the daemon itself has named to the agent.
// Any other request is a dialog that waits for a person. Agents that the daemon started have rules in their settings for
// these files, so permission serves the agents that a person started.
func (h *hookStep) permission() {
	h.tx.Agent.passLimit() // the model has answered with the call of a tool
	var in struct {
		FilePath string `json:"file_path"`
	}
	if !h.own && json.Unmarshal(h.p.ToolInput, &in) == nil && slices.Contains(h.pointedTo(in.FilePath), in.FilePath) {
		h.out.Output = json.RawMessage(`{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow"}}}`)
		return
	}
	h.beginWaiting()
}

// pointedTo returns the files that the daemon has told the agent to use with the requested tool. in is the requested file.
func (h *hookStep) pointedTo(in string) (paths []string) {
	a, hf := h.tx.Agent, h.tx.Handoff
	switch {
	case h.p.ToolName == "Read" && a.Persona != nil:
		paths = []string{filepath.Join(h.d.Data.Persona(*a.Persona), "skill.md"), experiencePath(h.d.Data, *a.Persona)}
		if hf != nil {
			paths = append(paths, hf.FilePath, requestPath(hf.FilePath))
		}
		if filepath.Dir(in) == h.d.Data.Handoffs(*a.Persona) && h.hasContent(in) {
			paths = append(paths, in) // a document of the persona; a link to another file has no content
		}
	case (h.p.ToolName == "Write" || h.p.ToolName == "Edit") && hf != nil:
		paths = []string{hf.FilePath, experiencePath(h.d.Data, hf.Persona)}
	}
	return paths
}
