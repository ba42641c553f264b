package handoffs

import (
	"cmp"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/agents"
	"github.com/understudyd/understudy/daemon/runtimes/claude"
	"github.com/understudyd/understudy/daemon/transcript"
)

// launchedMode returns the permission mode with which an agent was launched; "": nobody chose one.
func (d *Flow) launchedMode(a *daemon.Agent) string {
	options := a.Options
	if read := d.inheritedOptions(a); read != nil {
		options = read
	}
	return cmp.Or(a.PermissionMode, claude.OptionMode(options))
}

// readChoices decides which of the session's choices its successor begins with. The transcript is a file that the agent can
// change, so a mode must not be wider than the one that the operator has launched the agent with.
func (s *assembly) readChoices(got transcript.Choices) {
	rt, launched := s.d.RuntimeOf(&s.agent), s.d.launchedMode(&s.agent)
	if got.Model != "" && agents.CheckWord("model", got.Model) == nil {
		s.out.model = got.Model
	}
	switch {
	case got.Mode == got.Began:
	case rt.MayCarry(got.Mode, launched, got.Began):
		s.out.mode = got.Mode
	case agents.CheckWord("mode", got.Mode) == nil:
		s.warn("The session was changed to the permission mode %s. It is not passed on, because it may allow more than agent %d was launched "+
			"with: to give it to a successor, choose it with `understudy handoff --permission-mode %[1]s`.", got.Mode, s.agent.ID)
	}
}

// keepChoices notes on the agent what its successor begins with, beside the document: the thinking level with which it worked
// last, and the model and the permission mode that a person has chosen in the session.
func keepChoices(r *handoffRun, got *assembled) {
	if got.model != "" {
		r.agent.Model = got.model
	}
	if got.mode != "" {
		r.agent.PermissionMode = got.mode
	}
	keepEffort(r, got.effort)
}
