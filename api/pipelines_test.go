package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/pipelines"
	"github.com/understudyd/understudy/data"
	"github.com/understudyd/understudy/personas"
)

// pipelineBases are the two addresses of pipelines.
var pipelineBases = []string{"/pipelines", "/api/pipelines"}

// pipeline commits a pipeline of two steps on another host, so that the daemon does nothing for it.
func (h *fixture) pipeline(change func(*daemon.Pipeline)) *daemon.Pipeline {
	h.t.Helper()
	ctx, now := context.Background(), time.Now().UTC()
	p := &daemon.Pipeline{
		ID:    value(h.store.NextID(ctx, daemon.PipelineIDs))(h.t),
		Title: "a", Template: "quick_fix", Prompt: "Mend it.", Cwd: "/", Host: "elsewhere", Status: daemon.PipelinePending,
		Warnings: []string{}, CreatedAt: now, UpdatedAt: now,
	}
	for i, name := range []string{"developer", "reviewer"} {
		p.Steps = append(p.Steps, daemon.Step{
			ID: value(h.store.NextID(ctx, daemon.StepIDs))(h.t), PipelineID: p.ID, OrderIndex: i, Number: i + 1, Round: 1, AgentName: name, Status: daemon.StepPending,
		})
	}
	if change != nil {
		change(p)
	}
	h.commit(&daemon.Change{NewPipeline: p})
	return p
}

// worked commits a pipeline whose first step two agents have done and whose second step is running.
func (h *fixture) worked() (run *daemon.Pipeline, agents []int64) {
	h.t.Helper()
	branch, tree, slug, now := "mend", "/trees/mend", "developer-con-1", time.Now().UTC()
	run = h.pipeline(func(p *daemon.Pipeline) {
		p.Branch, p.Worktree, p.WorkDir, p.Status, p.StartedAt = &branch, &tree, tree, daemon.PipelineRunning, &now
		p.Note, p.Warnings = "the reviewer is at work", []string{"Run 7 works in the same directory"}
		p.Steps[0].Status, p.Steps[0].StartedAt, p.Steps[0].FinishedAt, p.Steps[0].Persona = daemon.StepDone, &now, &now, &slug
		p.Steps[0].Skill, p.Steps[0].Input, p.Steps[0].Timeout = "Be calm.", "Mend it.", time.Minute
		p.Steps[1].Status, p.Steps[1].StartedAt, p.Steps[1].Approval, p.Steps[1].ApprovedAt = daemon.StepRunning, &now, true, &now
		p.Steps[1].Comment, p.Steps[1].Prompt, p.Steps[1].Description = "mind the tests", "Review it.", "Reads the diff"
	})
	for _, step := range []int64{run.Steps[0].ID, run.Steps[0].ID, run.Steps[1].ID} {
		a := h.agent(func(a *daemon.Agent) { away(a); a.PipelineID, a.StepID = &run.ID, &step })
		agents = append(agents, a.ID)
	}
	done := "Mended."
	h.commit(&daemon.Change{PipelineMove: &daemon.PipelineMove{Pipeline: run}, NewOutput: &daemon.StepHandoff{
		ID: value(h.store.NextID(context.Background(), daemon.OutputIDs))(h.t), StepID: run.Steps[0].ID, AgentID: agents[1],
		ContentMD: "# What Was Done\n\nMended.\n", Metadata: &daemon.Metadata{WhatWasDone: &done}, CreatedAt: now,
	}})
	return run, agents
}

func TestPipelineOnTheWire(t *testing.T) {
	t.Parallel()
	h, ctx := build(t, nil), t.Context()
	run, agents := h.worked()
	short := h.mainDoor().ok("GET", fmt.Sprintf("/pipelines/%d", run.ID), "")
	h.mainDoor().ok("GET", fmt.Sprintf("/api/pipelines/%d", run.ID), "", string(short.body))
	// The fields of the contract, by name. Otherwise nobody would notice that a field is removed from package daemon and
	// from the description.
	var wire struct {
		Steps []map[string]json.RawMessage `json:"steps"`
	}
	must(t, json.Unmarshal(short.body, &wire))
	var top, output map[string]json.RawMessage
	must(t, json.Unmarshal(short.body, &top))
	must(t, json.Unmarshal(wire.Steps[0]["latest_handoff"], &output))
	for fields, got := range map[string]map[string]json.RawMessage{
		"id title template prompt branch cwd status error current_agent_id created_at updated_at steps": top,
		"id agent_name order_index status error agent_ids started_at finished_at latest_handoff":        wire.Steps[0],
		"id content_md metadata created_at": output,
	} {
		for field := range strings.FieldsSeq(fields) {
			if _, ok := got[field]; !ok {
				t.Errorf("%s lacks %q", short.body, field)
			}
		}
	}
	for _, name := range []string{"seq", "work_dir", "skill", "asked_at", "pipeline_id"} {
		if bytes.Contains(bytes.ToLower(short.body), []byte(`"`+name+`":`)) {
			t.Errorf("the answer has %s, which is internal: %s", name, short.body)
		}
	}

	got := value(h.client.Pipeline(ctx, run.ID))(t)
	first, second := got.Steps[0], got.Steps[1]
	if got.CurrentAgentID == nil || *got.CurrentAgentID != agents[2] || !slices.Equal(first.AgentIDs, agents[:2]) || !slices.Equal(second.AgentIDs, agents[2:]) {
		t.Errorf("agents: now %v, %v and %v, want %v", got.CurrentAgentID, first.AgentIDs, second.AgentIDs, agents)
	}
	if list := value(h.client.Pipelines(ctx, ListOptions{}))(t); first.Input == "" || list[0].Steps[0].Input != "" {
		t.Errorf("input %q, in the list %q: want it in the one and not in the other", first.Input, list[0].Steps[0].Input)
	}
	equal(t, "only the metadata of the message", string(output["metadata"]), `{"what_was_done":"Mended."}`)
	if first.LatestHandoff == nil || first.LatestHandoff.ContentMD != "# What Was Done\n\nMended.\n" || *first.LatestHandoff.Metadata.WhatWasDone != "Mended." || second.LatestHandoff != nil {
		t.Errorf("outputs: %+v, %+v", first.LatestHandoff, second.LatestHandoff)
	}
	if second.Comment != "mind the tests" || !second.Approval || second.ApprovedAt == nil || *got.Branch != "mend" || *got.Worktree != "/trees/mend" || len(got.Warnings) != 1 {
		t.Errorf("pipeline: %+v", got)
	}
	agent := value(h.client.Agent(ctx, agents[2]))(t)
	if agent.PipelineID == nil || *agent.PipelineID != run.ID || agent.StepID == nil || *agent.StepID != second.ID {
		t.Errorf("the agent's pipeline and step: %v, %v", agent.PipelineID, agent.StepID)
	}
}

// TestPipelineLists: each parameter reaches the store, at both addresses.
func TestPipelineLists(t *testing.T) {
	t.Parallel()
	h := build(t, nil)
	sentence, now := "Step timed out after 1.5s", time.Now()
	var newest []int64
	for _, status := range []daemon.PipelineStatus{daemon.PipelinePending, daemon.PipelineDone, daemon.PipelineFailed} {
		run := h.pipeline(func(p *daemon.Pipeline) {
			if p.Status = status; !p.Open() {
				p.FinishedAt = &now
			}
			if status == daemon.PipelineFailed {
				p.Error, p.Template = &sentence, "issue_only"
			}
		})
		newest = slices.Insert(newest, 0, run.ID)
	}
	for query, want := range map[string][]int64{
		"":                                 newest,
		"?limit=2":                         newest[:2],
		"?limit=1&before=" + id(newest[0]): newest[1:2],
		"?template=quick_fix":              newest[1:],
		"?template=nobody's":               {},
		"?template=":                       newest,
		"?status=done&template=quick_fix":  newest[1:2],
	} {
		for _, base := range pipelineBases {
			var list []daemon.Pipeline
			must(t, json.Unmarshal(h.mainDoor().ok("GET", base+query, "").body, &list))
			if got := runIDs(list); list == nil || !slices.Equal(got, want) {
				t.Errorf("GET %s%s: %v, want %v", base, query, got, want)
			}
		}
	}
	page := value(h.client.Pipelines(t.Context(), ListOptions{Template: "quick_fix", Status: "pending", Before: newest[1], Limit: 1}))(t)
	if got := runIDs(page); !slices.Equal(got, newest[2:]) || len(page[0].Steps) != 2 {
		t.Errorf("a page: %+v, want %v", page, newest[2:])
	}
}

func id(n int64) string { return fmt.Sprint(n) }

func runIDs(list []daemon.Pipeline) (ids []int64) {
	for _, p := range list {
		ids = append(ids, p.ID)
	}
	return ids
}

// TestPipelineRefusals: the API refuses these requests before it calls the domain, with exactly these sentences.
func TestPipelineRefusals(t *testing.T) {
	t.Parallel()
	h, ctx := build(t, nil), t.Context()
	run := h.pipeline(nil)
	before := value(h.store.LastEventID(ctx))(t)
	one := "/pipelines/" + id(run.ID)
	for _, row := range []struct{ method, path, body, code, sentence string }{
		{"POST", "/pipelines", `{"template": "a", "title": "b", "prompt": "c", "agents": []}`, "unknown_field", `Field "agents" is not known here`},
		{"POST", "/pipelines", `{"steps": {}}`, "invalid_field", `Field "steps" must be a list`},
		{"POST", "/pipelines", `{"steps": [{"runtime": "codex"}]}`, "bad_step", `Field "step" must be the number of a step, from 1`},
		{"POST", "/pipelines", `{"steps": [{"step": 1, "persona": "qa"}]}`, "unknown_field", `Field "persona" is not known here`},
		{"POST", one + "/approve?comment=x", "{}", "unknown_parameter", `Parameter "comment" is not known here`},
		{"GET", "/pipelines?status=ended", "", "invalid_parameter", `Parameter "status" must be one of pending, running, waiting_for_approval, done, failed`},
	} {
		what := row.method + " " + row.path + " " + row.body
		got := h.mainDoor().do(row.method, row.path, row.body)
		got.wants(t, what, 400, row.code)
		equal(t, what, got.shape(t, what).Error, row.sentence)
	}
	unchanged(h, "what was refused", before)
	decision := pipelines.Decision{Comment: "no"}
	for verb, do := range map[string]func() (daemon.Pipeline, error){
		"show":    func() (daemon.Pipeline, error) { return h.client.Pipeline(ctx, 9999) },
		"abort":   func() (daemon.Pipeline, error) { return h.client.AbortPipeline(ctx, 9999) },
		"resume":  func() (daemon.Pipeline, error) { return h.client.ResumePipeline(ctx, 9999, true) },
		"approve": func() (daemon.Pipeline, error) { return h.client.ApprovePipeline(ctx, 9999, decision) },
		"reject":  func() (daemon.Pipeline, error) { return h.client.RejectPipeline(ctx, 9999, decision) },
	} {
		t.Run(verb, func(t *testing.T) { refused(do())(t, daemon.KindNotFound, "pipeline_not_found", "Pipeline not found") })
	}
}

// TestPipelineVerbs: each verb reaches the domain with its fields. The domain's own tests show what it does.
func TestPipelineVerbs(t *testing.T) {
	t.Parallel()
	h, ctx := build(t, nil), t.Context()
	post := func(run *daemon.Pipeline, verb, body string) (p daemon.Pipeline) {
		t.Helper()
		must(t, json.Unmarshal(h.mainDoor().ok("POST", "/pipelines/"+id(run.ID)+verb, body).body, &p))
		return p
	}
	waits := func(p *daemon.Pipeline) { p.Status, p.Steps[0].Approval = daemon.PipelineWaiting, true }
	first, second := h.pipeline(waits), h.pipeline(waits)
	if p := post(first, "/approve", `{"comment": "mind the tests"}`); p.Steps[0].Comment != "mind the tests" || p.Steps[0].ApprovedAt == nil || p.Status == daemon.PipelineWaiting {
		t.Errorf("approved: %+v", p)
	}
	if p := post(first, "/abort", ""); p.Status != daemon.PipelineFailed || p.Error == nil || p.FinishedAt == nil {
		t.Errorf("aborted: %+v", p)
	}
	if p := post(first, "/resume", `{}`); !p.Open() || p.Steps[0].Status != daemon.StepPending {
		t.Errorf("resumed: %+v", p)
	}
	if p := post(second, "/reject", `{"comment": "too large"}`); p.Status != daemon.PipelineFailed || !strings.Contains(*p.Error, "too large") || p.Steps[0].Status != daemon.StepFailed {
		t.Errorf("rejected: %+v", p)
	}
	run := h.pipeline(nil)
	refused(h.client.ResumePipeline(ctx, run.ID, false))(t, daemon.KindConflict, "pipeline_not_failed", "")
	refused(h.client.ApprovePipeline(ctx, run.ID, pipelines.Decision{}))(t, daemon.KindConflict, "not_waiting_for_approval", "")
	refused(h.client.RejectPipeline(ctx, run.ID, pipelines.Decision{}))(t, daemon.KindConflict, "not_waiting_for_approval", "")
	value(h.client.AbortPipeline(ctx, run.ID))(t)
	refused(h.client.AbortPipeline(ctx, run.ID))(t, daemon.KindConflict, "pipeline_ended", "")
	if p := value(h.client.ResumePipeline(ctx, run.ID, true))(t); !p.Open() || p.Steps[0].Status != daemon.StepSkipped {
		t.Errorf("resumed with skip: %+v", p)
	}
}

// TestDecisionAboutAnotherStep: a decision that names an earlier step changes nothing.
func TestDecisionAboutAnotherStep(t *testing.T) {
	t.Parallel()
	h, ctx := build(t, nil), t.Context()
	now := time.Now().UTC()
	run := h.pipeline(func(p *daemon.Pipeline) {
		p.Status, p.StartedAt, p.Steps[1].Approval = daemon.PipelineWaiting, &now, true
		p.Steps[0].Status, p.Steps[0].StartedAt, p.Steps[0].FinishedAt = daemon.StepDone, &now, &now
	})
	before := value(h.store.LastEventID(ctx))(t)
	shown, waits := run.Steps[0].ID, run.Steps[1].ID
	for _, verb := range []string{"/approve", "/reject"} {
		for value, want := range map[string]struct {
			status         int
			code, sentence string
		}{
			id(shown): {409, "another_step", fmt.Sprintf("Pipeline %d waits at step 2 (reviewer) by now: look at it again", run.ID)},
			`"7"`:     {400, "invalid_field", `Field "step_id" must be an integer`},
			"-1":      {400, "invalid_field", `Field "step_id" must be a positive integer`},
		} {
			got := h.mainDoor().do("POST", "/pipelines/"+id(run.ID)+verb, `{"step_id": `+value+`, "comment": "fine"}`)
			got.wants(t, verb+" with "+value, want.status, want.code)
			equal(t, verb, got.shape(t, verb).Error, want.sentence)
		}
	}
	unchanged(h, "decisions about another step", before)
	equal(t, "rejected", value(h.client.RejectPipeline(ctx, run.ID, pipelines.Decision{StepID: waits}))(t).Status, daemon.PipelineFailed)
	refused(h.client.ApprovePipeline(ctx, run.ID, pipelines.Decision{StepID: waits}))(t, daemon.KindConflict, "not_waiting_for_approval", "")
}

// TestDecisionAfterAStep: an approval of a step is sent again, because its answer was lost. By now the step has ended, and the pipeline waits
// for a person to say what comes after it: the approval does not say that.
func TestDecisionAfterAStep(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]int{`{"step_id": %d}`: 409, `{"step_id": %d, "after": true}`: 200, `{"step_id": %d, "goto": 2}`: 200, `{}`: 200} {
		h := build(t, nil)
		run := h.pipeline(func(p *daemon.Pipeline) {
			s := &p.Steps[0]
			s.Status, s.Approval, s.Undecided = daemon.StepDone, true, daemon.UndecidedUnclear
			s.StartedAt, s.FinishedAt, s.ApprovedAt = &p.CreatedAt, &p.CreatedAt, &p.CreatedAt
			p.Status = daemon.PipelineWaiting
		})
		for _, verb := range []string{"/reject", "/approve"} {
			if verb == "/reject" && want == 200 {
				continue // it would end the pipeline
			}
			body := strings.ReplaceAll(body, "%d", id(run.Steps[0].ID))
			equal(t, verb, h.mainDoor().do("POST", "/api/pipelines/"+id(run.ID)+verb, body).status, want)
		}
	}
}

func TestNewPipeline(t *testing.T) {
	t.Parallel()
	cwd := t.TempDir()
	h := buildOn(t, nil, func(h *fixture, dir data.Dir) {
		inMemory(h, dir)
		writeTemplates(t, dir.Pipelines())
	})
	for _, base := range []string{"/pipelines", "/api/pipelines", "/pipelines/", "/api/pipelines/"} {
		got := h.mainDoor().ok("POST", base, fmt.Sprintf(`{"template": "quick", "title": "Mend", "prompt": "Mend it.", "cwd": %q}`, cwd))
		var run daemon.Pipeline
		if err := json.Unmarshal(got.body, &run); err != nil || got.status != 201 || run.Title != "Mend" || run.Template != "quick" || run.Prompt != "Mend it." || run.Cwd != cwd || run.Branch != nil || len(run.Steps) != 2 {
			t.Errorf("POST %s: %d %s", base, got.status, got.body)
		}
		h.mainDoor().ok("GET", base+"?limit=1", "", "[{")
	}
	quick := func(change func(*pipelines.NewPipeline)) pipelines.NewPipeline {
		in := pipelines.NewPipeline{Template: "quick", Title: "a", Prompt: "b", Cwd: cwd}
		change(&in)
		return in
	}
	step := func(c pipelines.StepChoice) pipelines.NewPipeline {
		return quick(func(in *pipelines.NewPipeline) { in.Steps = []pipelines.StepChoice{c} })
	}
	for want, in := range map[string]struct {
		kind daemon.Kind
		in   pipelines.NewPipeline
	}{
		"unknown_template": {daemon.KindUnprocessable, quick(func(in *pipelines.NewPipeline) { in.Template = "nobody's" })},
		"bad_title":        {daemon.KindInvalid, quick(func(in *pipelines.NewPipeline) { in.Title = "" })},
		"bad_prompt":       {daemon.KindInvalid, quick(func(in *pipelines.NewPipeline) { in.Prompt = "" })},
		"bad_branch":       {daemon.KindInvalid, quick(func(in *pipelines.NewPipeline) { in.Branch = "-x" })},
		"bad_directory":    {daemon.KindUnprocessable, quick(func(in *pipelines.NewPipeline) { in.Cwd = "here" })},
		"bad_step":         {daemon.KindUnprocessable, step(pipelines.StepChoice{Step: 3, Model: "x"})},
		"bad_runtime":      {daemon.KindInvalid, step(pipelines.StepChoice{Runtime: "a b"})},
		"bad_model":        {daemon.KindInvalid, step(pipelines.StepChoice{Step: 1, Model: "--yolo"})},
		"unknown_runtime":  {daemon.KindUnprocessable, step(pipelines.StepChoice{Step: 2, Runtime: "emacs"})},
	} {
		refused(h.client.CreatePipeline(t.Context(), in.in))(t, in.kind, want, "")
	}
	h.mainDoor().do("POST", "/pipelines", "").wants(t, "an empty body", 422, "unknown_template")
	unknown := h.mainDoor().do("POST", "/pipelines", fmt.Sprintf(`{"template": "quick", "title": "Mend", "prompt": "Mend it.", "cwd": %q, "runtime": "emacs"}`, cwd))
	unknown.wants(t, "an unknown runtime", 422, "unknown_runtime")
	if said := unknown.shape(t, "an unknown runtime").Error; !strings.HasPrefix(said, `Step 1 (developer): Runtime "emacs" is not configured, but these are: claude`) {
		t.Errorf("an unknown runtime: %q, want the step and the runtimes that are known", said)
	}
}

func TestTemplateOnTheWire(t *testing.T) {
	t.Parallel()
	for want, in := range map[string]personas.Template{
		`{"name":"a","description":"","steps":[],"file":"/f","problem":"line 3: it is no list"}`: {
			Name: "a", File: "/f", Problem: "line 3: it is no list",
		},
		`{"name":"a","description":"d","steps":[` +
			`{"agent":"qa","description":"x","prompt":"y","approval":true,"remind_after":3600,"timeout":1.5,"runtime":"codex","model":"gpt-5","next":[{"when":{"heading":"Verdict","contains":"not ready"},"goto":2}],"otherwise":"stop","max_rounds":3},` +
			`{"agent":"dev","description":"","prompt":"","approval":false,"remind_after":null,"timeout":null,"runtime":"","model":"","next":[],"otherwise":"","max_rounds":0}],"file":"/f","problem":null}`: {
			Name: "a", Description: "d", File: "/f", Steps: []personas.TemplateStep{
				{Agent: "qa", Description: "x", Prompt: "y", Approval: true, RemindAfter: time.Hour, Timeout: 1500 * time.Millisecond, Runtime: "codex", Model: "gpt-5",
					Next: []personas.Rule{{When: personas.Condition{Heading: "Verdict", Contains: "not ready"}, Goto: 2}}, Otherwise: personas.Stop, MaxRounds: 3},
				{Agent: "dev"},
			},
		},
	} {
		equal(t, "a template", string(value(json.Marshal(template(in)))(t)), want)
	}
}

// templatesOf returns two templates, one of them broken.
func templatesOf(t testing.TB) *personas.Templates {
	t.Helper()
	dir := t.TempDir()
	writeTemplates(t, dir)
	return value(personas.OpenTemplates(dir))(t)
}

// writeTemplates writes a template that can be run and one that cannot.
func writeTemplates(t testing.TB, dir string) {
	t.Helper()
	for name, text := range map[string]string{
		"quick.yaml":  "name: quick\ndescription: Mends.\nsteps:\n  - agent: developer\n    timeout: 90s\n  - agent: reviewer\n    approval: true\n",
		"broken.yaml": "name: broken\nsteps: 7\n",
	} {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
}

func TestTemplates(t *testing.T) {
	t.Parallel()
	none := build(t, nil)
	if got := none.mainDoor().do("GET", "/api/templates", ""); got.status != 200 || string(got.body) != "[]\n" {
		t.Errorf("without templates: %d %q", got.status, got.body)
	}
	h := build(t, func(s *Server) { s.Templates = templatesOf(t) })
	got := map[string]Template{}
	for _, template := range value(h.client.Templates(t.Context()))(t) {
		got[template.Name] = template
	}
	if names := slices.Sorted(maps.Keys(got)); !slices.Equal(names, []string{"broken", "quick"}) {
		t.Fatalf("templates: %q", names)
	}
	if quick := got["quick"]; quick.Problem != nil || quick.Description != "Mends." || len(quick.Steps) != 2 || quick.Steps[0].Timeout == nil ||
		*quick.Steps[0].Timeout != 90 || !quick.Steps[1].Approval || quick.Steps[1].Timeout != nil || filepath.Base(quick.File) != "quick.yaml" {
		t.Errorf("quick: %+v", quick)
	}
	if broken := got["broken"]; broken.Problem == nil || broken.Steps == nil || len(broken.Steps) != 0 {
		t.Errorf("broken: %+v", broken)
	}
}
