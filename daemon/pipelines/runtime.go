package pipelines

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/agents"
	"github.com/understudyd/understudy/daemon/runtimes/claude"
	"github.com/understudyd/understudy/personas"
)

// StepChoice says how steps of a new pipeline run, in place of what the template says. A choice for one step goes before
// a choice for all steps.
type StepChoice struct {
	Step    int    `json:"step"`    // the number of the step, from 1; 0: all steps
	Runtime string `json:"runtime"` // "": as the template says, else the persona
	Model   string `json:"model"`   // "": as the template says, else the persona, if that is of the same runtime
}

// checkChoices refuses a choice for a step that the template does not have, and names that can't be one argument of a
// command.
func checkChoices(choices []StepChoice, steps int) error {
	for i := range choices {
		c := &choices[i]
		if c.Step < 0 || c.Step > steps {
			return daemon.Errorf(daemon.KindUnprocessable, daemon.CodeBadStep, "Template has no step %d: its steps are numbered from 1 to %d", c.Step, steps)
		}
		for _, field := range []struct{ name, value string }{{"runtime", c.Runtime}, {"model", c.Model}} {
			if err := agents.CheckWord(field.name, field.value); err != nil {
				return err
			}
		}
	}
	return nil
}

// chosen returns the runtime and the model of the step with number n, as the choices of a new pipeline and the template say;
// "": neither says it. A model belongs to a runtime, so a choice of another runtime drops the template's model.
func chosen(ts *personas.TemplateStep, choices []StepChoice, n int) (runtime, model string) {
	runtime, model = ts.Runtime, ts.Model
	for _, of := range []int{0, n} {
		for i := range choices {
			c := &choices[i]
			if c.Step != of {
				continue
			}
			if c.Runtime != "" && c.Runtime != runtime {
				runtime, model = c.Runtime, ""
			}
			model = cmp.Or(c.Model, model)
		}
	}
	return runtime, model
}

// checkStepRuntime refuses a runtime that the template or the request names for a step, if no agent of it can be started.
// The runtime of a persona is not checked here: the step fails when it is reached, and a resume goes on once that is mended.
func (room *Room) checkStepRuntime(s *daemon.Step) error {
	if s.Runtime == "" {
		return nil
	}
	err := room.env.CheckRuntime(s.Runtime)
	told, ok := errors.AsType[*daemon.Error](err)
	if !ok {
		return err
	}
	return &daemon.Error{Kind: told.Kind, Code: told.Code, Cause: told.Cause, Message: fmt.Sprintf("Step %d (%s): %s", s.OrderIndex+1, s.AgentName, told.Message)}
}

// silentWarning returns the warning that a step's runtime does not report the agent's final message; "": it does, or the
// runtime is not known yet.
func (room *Room) silentWarning(s *daemon.Step) string {
	rt, err := room.env.Settings().RuntimeNamed(s.Runtime)
	if err != nil || rt.Can.QuietAfter == 0 {
		return ""
	}
	return fmt.Sprintf("Step %d (%s) runs on %s, which does not report what the agent says: the step leaves nothing for the next one.",
		s.OrderIndex+1, s.AgentName, s.Runtime)
}

// play copies a persona into the step. Later edits of the persona do not change the pipeline. The runtime and the model that
// were chosen for the step stay.
func play(s *daemon.Step, p personas.Persona) {
	s.Persona, s.Skill = &p.Slug, p.Skill
	s.Runtime = cmp.Or(s.Runtime, p.Runtime, claude.Runtime.Name)
	if s.Model == "" && agents.ModelFits(&p, s.Runtime) {
		s.Model = p.Model
	}
}
