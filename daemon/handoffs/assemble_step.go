package handoffs

import (
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/data"
)

// NewStepAssembly begins the assembly of what a step passes on. For the assembly, the output is a handoff's document, and whoever plays the
// next step its heir; "": nobody does.
func NewStepAssembly(d *Flow, s *daemon.Step, a *daemon.Agent, text, heir string) *assembly {
	out := &assembly{
		d: d, agent: *a, Doc: data.Document{Bytes: []byte(text)}, settings: d.Settings().Handoff, lapBegan: time.Now(), step: s,
		H: daemon.Handoff{AgentID: a.ID, Persona: s.Who(), SourceAgent: s.AgentName},
	}
	if heir != "" {
		out.H.Heirs = []daemon.HandoffHeir{{Heir: daemon.Heir{Persona: heir}}}
	} else {
		out.settings.ValidateContext = false // nobody takes over
	}
	return out
}
