package intake

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/agents"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/personas"
)

// permission applies a PermissionRequest. It allows an agent to use the files that the daemon itself has named to the agent.
// Any other request is answered by a rule of the operator, or waits for a person. Agents that the daemon started have rules in their settings for
// these files, so permission serves the agents that a person started.
func (h *hookStep) permission() {
	h.tx.Agent.PassLimit() // the model has answered with the call of a tool
	h.turnGoesOn()
	var in struct {
		FilePath string `json:"file_path"`
	}
	if !h.own && json.Unmarshal(h.p.ToolInput, &in) == nil && slices.Contains(h.pointedTo(in.FilePath), in.FilePath) {
		h.out.Output = json.RawMessage(`{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow"}}}`)
		return
	}
	h.asks()
}

// turnGoesOn notes that the turn goes on whose Stop has come, because another hook has blocked that Stop: the agent itself asks for a permission
// in it. A sub-agent may ask below an agent that rests.
func (h *hookStep) turnGoesOn() {
	if a := h.tx.Agent; h.p.AgentID == "" && a.StopCameAt != nil && h.in.At.After(*a.StopCameAt) {
		a.ForgetStop()
	}
}

// pointedTo returns the files that the daemon has told the agent to use with the requested tool. in is the requested file.
func (h *hookStep) pointedTo(in string) (paths []string) {
	a, hf := h.tx.Agent, h.tx.Handoff
	switch {
	case h.p.ToolName == "Read" && a.Persona != nil:
		paths = []string{filepath.Join(h.Dir.Persona(*a.Persona), "skill.md"), agents.ExperiencePath(h.Dir, *a.Persona)}
		if hf != nil {
			paths = append(paths, hf.FilePath, agents.RequestPath(hf.FilePath))
		}
		if filepath.Dir(in) == h.Dir.Handoffs(*a.Persona) && h.Ask(engine.Question{Content: in}).Yes {
			paths = append(paths, in) // a document of the persona; a link to another file has no content
		}
	case (h.p.ToolName == "Write" || h.p.ToolName == "Edit") && hf != nil:
		paths = []string{hf.FilePath, agents.ExperiencePath(h.Dir, hf.Persona)}
	}
	return paths
}

// asks decides about a PermissionRequest that only a person or the operator's rules can answer. If a rule answers, the hook
// gets that answer. If not, the agent waits for a person, and the daemon holds the hook if that helps.
func (h *hookStep) asks() {
	call, whole := callOf(&h.p)
	can := &h.RuntimeOf(h.tx.Agent).Can
	if h.own || h.in.Replayed || !can.AnswersPermission || !whole || call.IsQuestion() {
		h.beginWaiting()
		return
	}
	a := h.tx.Agent
	p := daemon.NewPermission(h.tx.HookID, a, h.in.At)
	call.Show(p)
	verdict, rule := h.byRule(&call)
	switch {
	case verdict != "":
		p.Answer(verdict, daemon.PermissionByRule, "rule "+rule, h.Now)
		p.End(daemon.PermissionGiven, "", h.Now)
		h.out.Output = PermissionOutput(p)
	case !h.holds || !can.HoldsPermission || h.Settings.Permissions.Hold <= 0:
		h.beginWaiting()
		return
	default:
		until := p.AskedAt.Add(h.Settings.Permissions.Hold)
		p.HeldUntil = &until
		h.asked = p
		h.beginWaiting()
	}
	h.out.Change.NewPermissions = append(h.out.Change.NewPermissions, p)
	typ := event.PermissionAsked
	if p.Verdict != "" {
		typ = event.PermissionAnswered
	}
	e := h.PermissionEvent(typ, p, a)
	if h.tx.Handoff != nil {
		e.HandoffID = &h.tx.Handoff.ID
	}
	h.out.Change.Events = append(h.out.Change.Events, e)
}

// byRule returns what the rules of the agent's persona and of its earlier permissions say about a call, and which rule says
// it; verdict is "" if none does. Without the persona there are no rules of it, and people are asked.
func (h *hookStep) byRule(c *ToolCall) (verdict daemon.PermissionVerdict, rule string) {
	a := h.tx.Agent
	var rules personas.Permissions
	if a.Persona != nil {
		rules = h.Ask(engine.Question{Rules: *a.Persona}).Persona.Permissions
	}
	follow := func(path string) string { return h.Ask(engine.Question{Real: path}).Path }
	for rule := range strings.Lines(rules.Deny) {
		if rule = strings.TrimSuffix(rule, "\n"); c.DeniedBy(rule, a.Cwd, follow) {
			return daemon.Deny, rule
		}
	}
	for rule := range strings.Lines(rules.Allow) {
		if rule = strings.TrimSuffix(rule, "\n"); c.AllowedBy(rule, a.Cwd, follow) {
			return daemon.Allow, rule
		}
	}
	for _, rule := range a.AllowRules {
		if c.AllowedBy(rule, a.Cwd, follow) {
			return daemon.Allow, rule
		}
	}
	return "", ""
}
