package api

import (
	"cmp"
	"context"
	"encoding/json"
	"math"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/house"
	"github.com/understudyd/understudy/daemon/pipelines"
)

type newPipelineRequest struct {
	Template string `json:"template"`
	Title    string `json:"title"`
	Prompt   string `json:"prompt"`
	Branch   string `json:"branch"`
	Cwd      string `json:"cwd"`

	// How steps run. Runtime and Model hold for all steps, and those of Steps for one.
	Runtime string            `json:"runtime,omitempty"`
	Model   string            `json:"model,omitempty"`
	Steps   []json.RawMessage `json:"steps,omitempty"`
}

// stepChoiceRequest is one of the steps in a request.
type stepChoiceRequest struct {
	Step    int64  `json:"step"` // from 1
	Runtime string `json:"runtime"`
	Model   string `json:"model"`
}

// choices returns how the steps of a new pipeline run; nil: as the template says.
func (in *newPipelineRequest) choices() (choices []pipelines.StepChoice, err error) {
	if in.Runtime != "" || in.Model != "" {
		choices = append(choices, pipelines.StepChoice{Runtime: in.Runtime, Model: in.Model})
	}
	for _, raw := range in.Steps {
		var one stepChoiceRequest
		if err := decodeObject(raw, &one); err != nil {
			return nil, err
		}
		if one.Step <= 0 || one.Step > math.MaxInt32 {
			return nil, invalid(daemon.CodeBadStep, "Field \"step\" must be the number of a step, from 1")
		}
		choices = append(choices, pipelines.StepChoice{Step: int(one.Step), Runtime: one.Runtime, Model: one.Model})
	}
	return choices, nil
}

// stepsOf writes the choices into the body of a request, as [newPipelineRequest.choices] reads them.
func stepsOf(choices []pipelines.StepChoice, body *newPipelineRequest) error {
	for _, c := range choices {
		if c.Step == 0 {
			body.Runtime, body.Model = cmp.Or(c.Runtime, body.Runtime), cmp.Or(c.Model, body.Model)
			continue
		}
		b, err := json.Marshal(c)
		if err != nil {
			return err
		}
		body.Steps = append(body.Steps, b)
	}
	return nil
}

type resumeRequest struct {
	Skip bool `json:"skip"` // skip the first step that is not done
}

type decisionRequest struct {
	StepID  *int64 `json:"step_id,omitempty"` // absent means the step before which the pipeline waits
	After   bool   `json:"after,omitempty"`   // the decision is about what comes after that step
	Comment string `json:"comment"`
	Goto    int    `json:"goto,omitempty"` // where the rules of a step don't decide: the number of the step that comes next; absent: the following one
}

// pipelineHandlers answer about pipelines.
type pipelineHandlers struct{ *house.House }

func (h pipelineHandlers) create(ctx context.Context, in newPipelineRequest) (daemon.Pipeline, error) {
	choices, err := in.choices()
	if err != nil {
		return daemon.Pipeline{}, err
	}
	return h.Pipelines.CreatePipeline(ctx, pipelines.NewPipeline{
		Template: in.Template, Title: in.Title, Prompt: in.Prompt, Branch: in.Branch, Cwd: in.Cwd, Steps: choices,
	})
}

func pipelineFilter(p *params) daemon.PipelineFilter {
	return daemon.PipelineFilter{
		Status: daemon.PipelineStatus(p.oneOf("status", string(daemon.PipelinePending), string(daemon.PipelineRunning),
			string(daemon.PipelineWaiting), string(daemon.PipelineDone), string(daemon.PipelineFailed))),
		Template: p.text("template"),
		Before:   p.id("before"),
		Limit:    p.limit(),
	}
}

func (h pipelineHandlers) list(ctx context.Context, f daemon.PipelineFilter) ([]daemon.Pipeline, error) {
	list, err := h.Pipelines.Pipelines(ctx, f)
	for i := range list {
		for j := range list[i].Steps {
			list[i].Steps[j].Input = "" // leave it out: most of it repeats the output of the previous step
		}
	}
	return list, err
}

func (h pipelineHandlers) resume(ctx context.Context, id int64, in resumeRequest) (daemon.Pipeline, error) {
	return h.Pipelines.ResumePipeline(ctx, id, in.Skip)
}

// decision passes the decision in the body to give.
func decision(give func(context.Context, int64, pipelines.Decision) (daemon.Pipeline, error)) source[daemon.Pipeline] {
	return fromBodyByKey(func(ctx context.Context, id int64, in decisionRequest) (daemon.Pipeline, error) {
		step, err := fieldID("step_id", in.StepID)
		if err != nil {
			return daemon.Pipeline{}, err
		}
		return give(ctx, id, pipelines.Decision{StepID: step, After: in.After, Comment: in.Comment, Goto: in.Goto})
	})
}
