package api

import (
	"context"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/understudyd/understudy/daemon"
)

type newPipelineRequest struct {
	Template string `json:"template"`
	Title    string `json:"title"`
	Prompt   string `json:"prompt"`
	Branch   string `json:"branch"`
	Cwd      string `json:"cwd"`
}

type resumeRequest struct {
	Skip bool `json:"skip"` // skip the first step that is not done
}

type decisionRequest struct {
	StepID  *int64 `json:"step_id,omitempty"` // absent means the step before which the pipeline waits
	Comment string `json:"comment"`
}

func (s *Server) createPipeline(c echo.Context) error {
	var in newPipelineRequest
	if err := decode(c, &in); err != nil {
		return err
	}
	created, err := s.Daemon.CreatePipeline(c.Request().Context(), daemon.NewPipeline{
		Template: in.Template, Title: in.Title, Prompt: in.Prompt, Branch: in.Branch, Cwd: in.Cwd,
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
	pipelines, err := s.Daemon.Pipelines(c.Request().Context(), filter)
	for i := range pipelines {
		for j := range pipelines[i].Steps {
			pipelines[i].Steps[j].Input = "" // leave it out: most of it repeats the output of the previous step
		}
	}
	return replyList(c, pipelines, err)
}

func (s *Server) showPipeline(c echo.Context) error {
	return replyOne(c, http.StatusOK, s.Daemon.Pipeline)
}

func (s *Server) abortPipeline(c echo.Context) error {
	if err := decode(c, &struct{}{}); err != nil {
		return err
	}
	return replyOne(c, http.StatusOK, s.Daemon.AbortPipeline)
}

func (s *Server) resumePipeline(c echo.Context) error {
	var in resumeRequest
	if err := decode(c, &in); err != nil {
		return err
	}
	return replyOne(c, http.StatusOK, func(ctx context.Context, id int64) (daemon.Pipeline, error) {
		return s.Daemon.ResumePipeline(ctx, id, in.Skip)
	})
}

func (s *Server) approvePipeline(c echo.Context) error {
	return replyDecision(c, s.Daemon.ApprovePipeline)
}

func (s *Server) rejectPipeline(c echo.Context) error {
	return replyDecision(c, s.Daemon.RejectPipeline)
}

// replyDecision passes the decision in the body to give, and answers with the pipeline that give returns.
func replyDecision(c echo.Context, give func(context.Context, int64, daemon.Decision) (daemon.Pipeline, error)) error {
	var in decisionRequest
	if err := decode(c, &in); err != nil {
		return err
	}
	step, err := fieldID("step_id", in.StepID)
	if err != nil {
		return err
	}
	return replyOne(c, http.StatusOK, func(ctx context.Context, id int64) (daemon.Pipeline, error) {
		return give(ctx, id, daemon.Decision{StepID: step, Comment: in.Comment})
	})
}
