package api

import (
	"cmp"
	"context"
	"encoding/json"
	"math"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/understudyd/understudy/daemon"
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

func (s *Server) createPipeline(c echo.Context) error {
	var in newPipelineRequest
	if err := decode(c, &in); err != nil {
		return err
	}
	choices, err := in.choices()
	if err != nil {
		return err
	}
	created, err := s.Pipelines.CreatePipeline(c.Request().Context(), pipelines.NewPipeline{
		Template: in.Template, Title: in.Title, Prompt: in.Prompt, Branch: in.Branch, Cwd: in.Cwd, Steps: choices,
	})
	return reply(c, http.StatusCreated, created, err)
}

func (s *Server) listPipelines(c echo.Context) error {
	p := paramsOf(c)
	filter := daemon.PipelineFilter{
		Status: daemon.PipelineStatus(p.oneOf("status", string(daemon.PipelinePending), string(daemon.PipelineRunning),
			string(daemon.PipelineWaiting), string(daemon.PipelineDone), string(daemon.PipelineFailed))),
		Template: p.text("template"),
		Before:   p.id("before"),
		Limit:    p.limit(),
	}
	if p.err != nil {
		return p.err
	}
	pipelines, err := s.Pipelines.Pipelines(c.Request().Context(), filter)
	for i := range pipelines {
		for j := range pipelines[i].Steps {
			pipelines[i].Steps[j].Input = "" // leave it out: most of it repeats the output of the previous step
		}
	}
	return replyList(c, pipelines, err)
}

func (s *Server) showPipeline(c echo.Context) error {
	return replyOne(c, http.StatusOK, s.Pipelines.Pipeline)
}

func (s *Server) abortPipeline(c echo.Context) error {
	if err := decode(c, &struct{}{}); err != nil {
		return err
	}
	return replyOne(c, http.StatusOK, s.Pipelines.AbortPipeline)
}

func (s *Server) resumePipeline(c echo.Context) error {
	var in resumeRequest
	if err := decode(c, &in); err != nil {
		return err
	}
	return replyOne(c, http.StatusOK, func(ctx context.Context, id int64) (daemon.Pipeline, error) {
		return s.Pipelines.ResumePipeline(ctx, id, in.Skip)
	})
}

func (s *Server) approvePipeline(c echo.Context) error {
	return replyDecision(c, s.Pipelines.ApprovePipeline)
}

func (s *Server) rejectPipeline(c echo.Context) error {
	return replyDecision(c, s.Pipelines.RejectPipeline)
}

// replyDecision passes the decision in the body to give, and answers with the pipeline that give returns.
func replyDecision(c echo.Context, give func(context.Context, int64, pipelines.Decision) (daemon.Pipeline, error)) error {
	var in decisionRequest
	if err := decode(c, &in); err != nil {
		return err
	}
	step, err := fieldID("step_id", in.StepID)
	if err != nil {
		return err
	}
	return replyOne(c, http.StatusOK, func(ctx context.Context, id int64) (daemon.Pipeline, error) {
		return give(ctx, id, pipelines.Decision{StepID: step, After: in.After, Comment: in.Comment, Goto: in.Goto})
	})
}
