package api

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/pipelines"
	"github.com/understudyd/understudy/data"
)

// pipelineBases are the two addresses of pipelines.
var pipelineBases = []string{"/pipelines", "/api/pipelines"}

// pipeline commits a pipeline of two steps on another host, so that the daemon does nothing for it.
func (h *fixture) pipeline(change func(*daemon.Pipeline)) *daemon.Pipeline {
	h.t.Helper()
	ctx, now := context.Background(), time.Now().UTC()
	p := &daemon.Pipeline{
		ID:    must(h.store.NextID(ctx, daemon.PipelineIDs))(h.t),
		Title: "a", Template: "quick_fix", Prompt: "Mend it.", Cwd: "/", Host: "elsewhere", Status: daemon.PipelinePending,
		Warnings: []string{}, CreatedAt: now, UpdatedAt: now,
	}
	for i, name := range []string{"developer", "reviewer"} {
		p.Steps = append(p.Steps, daemon.Step{
			ID: must(h.store.NextID(ctx, daemon.StepIDs))(h.t), PipelineID: p.ID, OrderIndex: i, Number: i + 1, Round: 1, AgentName: name, Status: daemon.StepPending,
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
		ID: must(h.store.NextID(context.Background(), daemon.OutputIDs))(h.t), StepID: run.Steps[0].ID, AgentID: agents[1],
		ContentMD: "# What Was Done\n\nMended.\n", Metadata: &daemon.Metadata{WhatWasDone: &done}, CreatedAt: now,
	}})
	return run, agents
}

func TestPipelineOnTheWire(t *testing.T) {
	t.Parallel()
	h, ctx := build(t, nil), t.Context()
	run, agents := h.worked()
	short := h.mainDoor().do("GET", fmt.Sprintf("/pipelines/%d", run.ID), "")
	long := h.mainDoor().do("GET", fmt.Sprintf("/api/pipelines/%d", run.ID), "")
	if short.status != 200 || !bytes.Equal(short.body, long.body) {
		t.Errorf("the two addresses: %d %s and %d %s", short.status, short.body, long.status, long.body)
	}
	// The fields of the contract, by name. Otherwise nobody would notice that a field is removed from package daemon and
	// from the description.
	var wire struct {
		Steps []map[string]json.RawMessage `json:"steps"`
	}
	check(t, json.Unmarshal(short.body, &wire))
	var top, output map[string]json.RawMessage
	check(t, json.Unmarshal(short.body, &top))
	check(t, json.Unmarshal(wire.Steps[0]["latest_handoff"], &output))
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
	if name := ownField(short.body); name != "" {
		t.Errorf("the answer has %s, which is internal: %s", name, short.body)
	}

	got := must(h.client.Pipeline(ctx, run.ID))(t)
	first, second := got.Steps[0], got.Steps[1]
	if got.CurrentAgentID == nil || *got.CurrentAgentID != agents[2] || !slices.Equal(first.AgentIDs, agents[:2]) || !slices.Equal(second.AgentIDs, agents[2:]) {
		t.Errorf("agents: now %v, %v and %v, want %v", got.CurrentAgentID, first.AgentIDs, second.AgentIDs, agents)
	}
	if list := must(h.client.Pipelines(ctx, ListOptions{}))(t); first.Input == "" || list[0].Steps[0].Input != "" {
		t.Errorf("input %q, in the list %q: want it in the one and not in the other", first.Input, list[0].Steps[0].Input)
	}
	if string(output["metadata"]) != `{"what_was_done":"Mended."}` {
		t.Errorf("metadata %s, want only what the message has", output["metadata"])
	}
	if first.LatestHandoff == nil || first.LatestHandoff.ContentMD != "# What Was Done\n\nMended.\n" || *first.LatestHandoff.Metadata.WhatWasDone != "Mended." || second.LatestHandoff != nil {
		t.Errorf("outputs: %+v, %+v", first.LatestHandoff, second.LatestHandoff)
	}
	if second.Comment != "mind the tests" || !second.Approval || second.ApprovedAt == nil || *got.Branch != "mend" || *got.Worktree != "/trees/mend" || len(got.Warnings) != 1 {
		t.Errorf("pipeline: %+v", got)
	}
	agent := must(h.client.Agent(ctx, agents[2]))(t)
	if agent.PipelineID == nil || *agent.PipelineID != run.ID || agent.StepID == nil || *agent.StepID != second.ID {
		t.Errorf("the agent's pipeline and step: %v, %v", agent.PipelineID, agent.StepID)
	}
}

// ownField returns the first internal field that a body has, "" if it has none.
func ownField(body []byte) string {
	for _, name := range []string{"seq", "work_dir", "skill", "asked_at", "pipeline_id"} {
		if bytes.Contains(bytes.ToLower(body), []byte(`"`+name+`":`)) {
			return name
		}
	}
	return ""
}

func TestPipelineLists(t *testing.T) {
	t.Parallel()
	h, ctx := build(t, nil), t.Context()
	for _, base := range pipelineBases {
		if got := h.mainDoor().do("GET", base, ""); got.status != 200 || string(got.body) != "[]\n" {
			t.Errorf("GET %s without pipelines: %d %q", base, got.status, got.body)
		}
	}
	sentence, now := "Step timed out after 1.5s", time.Now()
	statuses := []daemon.PipelineStatus{daemon.PipelinePending, daemon.PipelineRunning, daemon.PipelineWaiting, daemon.PipelineDone, daemon.PipelineFailed}
	var runs []int64
	for _, status := range statuses {
		run := h.pipeline(func(p *daemon.Pipeline) {
			p.Status = status
			if !p.Open() {
				p.FinishedAt = &now
			}
			if status == daemon.PipelineFailed {
				p.Error, p.Template = &sentence, "issue_only"
			}
		})
		runs = append(runs, run.ID)
	}
	newest := slices.Clone(runs)
	slices.Reverse(newest)
	for query, want := range map[string][]int64{
		"":                                        newest,
		"?limit=2":                                newest[:2],
		"?limit=2&before=" + id(newest[1]):        newest[2:4],
		"?limit=2&before=" + id(newest[3]):        newest[4:],
		"?before=" + id(newest[4]):                {},
		"?template=quick_fix":                     newest[1:],
		"?template=issue_only":                    newest[:1],
		"?template=nobody's":                      {},
		"?template=":                              newest,
		"?status=done&template=issue_only":        {},
		"?status=done&template=quick_fix&limit=1": {runs[3]},
	} {
		for _, base := range pipelineBases {
			var list []daemon.Pipeline
			check(t, json.Unmarshal(h.mainDoor().do("GET", base+query, "").body, &list))
			if got := runIDs(list); list == nil || !slices.Equal(got, want) {
				t.Errorf("GET %s%s: %v, want %v", base, query, got, want)
			}
		}
	}
	for i, status := range statuses {
		list := must(h.client.Pipelines(ctx, ListOptions{Status: string(status)}))(t)
		if got := runIDs(list); !slices.Equal(got, runs[i:i+1]) || len(list[0].Steps) != 2 || list[0].Steps[0].AgentName != "developer" {
			t.Errorf("pipelines that are %s: %+v, want %d", status, list, runs[i])
		}
	}
	page := must(h.client.Pipelines(ctx, ListOptions{Template: "quick_fix", Before: newest[1], Limit: 1}))(t)
	if got := runIDs(page); !slices.Equal(got, newest[2:3]) {
		t.Errorf("a page: %v, want %v", got, newest[2:3])
	}
}

func id(n int64) string { return fmt.Sprint(n) }

func runIDs(list []daemon.Pipeline) (ids []int64) {
	for _, p := range list {
		ids = append(ids, p.ID)
	}
	return ids
}

// TestPipelineRefusals: the API refuses these requests before it calls the domain. The rows are in the order of the checks.
func TestPipelineRefusals(t *testing.T) {
	t.Parallel()
	h, ctx := build(t, nil), t.Context()
	run := h.pipeline(nil)
	before := must(h.store.LastEventID(ctx))(t)
	for _, base := range pipelineBases {
		one := base + "/" + id(run.ID)
		for _, row := range []struct{ method, path, body, code, sentence string }{
			{"POST", base, `{"template": "a", "title": "b", "prompt": "c", "agents": []}`, "unknown_field", `Field "agents" is not known here`},
			{"POST", base, `{"steps": {}}`, "invalid_field", `Field "steps" must be a list`},
			{"POST", base, `{"steps": [{"runtime": "codex"}]}`, "bad_step", `Field "step" must be the number of a step, from 1`},
			{"POST", base, `{"steps": [{"step": 1, "persona": "qa"}]}`, "unknown_field", `Field "persona" is not known here`},
			{"POST", base, `{"template": ["a"]}`, "invalid_field", `Field "template" must be a string`},
			{"POST", base, `{"branch": true}`, "invalid_field", `Field "branch" must be a string`},
			{"POST", base, `"full_feature"`, "invalid_json", ""},
			{"POST", base + "?template=a", "{}", "unknown_parameter", `Parameter "template" is not known here`},
			{"POST", one + "/abort", `{"comment": "no"}`, "unknown_field", `Field "comment" is not known here`},
			{"POST", one + "/resume", `{"skip": "yes"}`, "invalid_field", `Field "skip" must be true or false`},
			{"POST", one + "/resume", `{"skip": 1}`, "invalid_field", `Field "skip" must be true or false`},
			{"POST", one + "/resume", `{"step": 1}`, "unknown_field", `Field "step" is not known here`},
			{"POST", one + "/approve", `{"comment": 7}`, "invalid_field", `Field "comment" must be a string`},
			{"POST", one + "/approve?comment=x", "{}", "unknown_parameter", `Parameter "comment" is not known here`},
			{"POST", one + "/reject", `{"Comment": "no"}`, "unknown_field", `Field "Comment" is not known here`},
			{"POST", base + "/01/abort", "{}", "invalid_id", "Id must be a positive integer"},
			{"GET", base + "/latest", "", "invalid_id", "Id must be a positive integer"},
			{"GET", base + "?status=ended", "", "invalid_parameter", `Parameter "status" must be one of pending, running, waiting_for_approval, done, failed`},
			{"GET", base + "?persona=a", "", "unknown_parameter", `Parameter "persona" is not known here`},
		} {
			what := row.method + " " + row.path + " " + row.body
			got := h.mainDoor().do(row.method, row.path, row.body)
			got.wants(t, what, 400, row.code)
			if body := got.shape(t, what); row.sentence != "" && body.Error != row.sentence {
				t.Errorf("%s: %q, want %q", what, body.Error, row.sentence)
			}
		}
		for _, verb := range []string{"", "/abort", "/resume", "/approve", "/reject"} {
			method := map[bool]string{true: "GET", false: "POST"}[verb == ""]
			h.mainDoor().do(method, base+"/9999"+verb, "").wants(t, method+" "+base+"/9999"+verb, 404, "pipeline_not_found")
		}
	}
	unchanged(h, "what was refused", before)

	_, err := h.client.Pipeline(ctx, 9999)
	wantError(t, err, daemon.KindNotFound, "pipeline_not_found", "Pipeline not found")
	_, err = h.client.Pipelines(ctx, ListOptions{Status: "ended"})
	wantError(t, err, daemon.KindInvalid, "invalid_parameter", "")
	for verb, do := range map[string]func() (daemon.Pipeline, error){
		"abort":  func() (daemon.Pipeline, error) { return h.client.AbortPipeline(ctx, 9999) },
		"resume": func() (daemon.Pipeline, error) { return h.client.ResumePipeline(ctx, 9999, true) },
		"approve": func() (daemon.Pipeline, error) {
			return h.client.ApprovePipeline(ctx, 9999, pipelines.Decision{Comment: "go on"})
		},
		"reject": func() (daemon.Pipeline, error) {
			return h.client.RejectPipeline(ctx, 9999, pipelines.Decision{Comment: "no"})
		},
	} {
		if _, err := do(); err == nil {
			t.Errorf("%s of an unknown pipeline: no error", verb)
		} else {
			wantError(t, err, daemon.KindNotFound, "pipeline_not_found", "Pipeline not found")
		}
	}
}

// TestPipelineDoors: only a program on the main socket and a client with the token get in. An agent that works for the
// pipeline does not.
func TestPipelineDoors(t *testing.T) {
	t.Parallel()
	h := build(t, nil)
	run := h.pipeline(nil)
	sum := sha256.Sum256([]byte("mine"))
	h.agent(func(a *daemon.Agent) {
		away(a)
		a.LaunchHash, a.Managed, a.TmuxSession, a.PipelineID, a.StepID = sum[:], true, "mine", &run.ID, &run.Steps[0].ID
	})
	routes := slices.Concat(h.server.pipelineRoutes("/pipelines"), h.server.pipelineRoutes("/api/pipelines"),
		[]route{{method: "GET", path: "/api/templates"}})
	for _, r := range routes {
		path := filled(r.path, run.ID, "")
		what := r.method + " " + path
		for _, d := range []door{h.hookDoor(), h.hookDoor().with(launchHeader, "mine")} {
			d.do(r.method, path, "").wants(t, what+" on the hook socket", 404, "not_found")
		}
		tcp := h.tcpDoor()
		tcp.with("Authorization", "").do(r.method, path, "").wants(t, what+" without a token", 401, "token_required")
		tcp.with("Authorization", "Bearer x").do(r.method, path, "").wants(t, what+" with a wrong token", 401, "token_required")
		tcp.with("Origin", "http://evil.example").do(r.method, path, "").wants(t, what+" from a foreign page", 403, "foreign_origin")
		tcp.with("Host", "evil.example").do(r.method, path, "").wants(t, what+" by a rebound name", 403, "foreign_host")
		if r.method == http.MethodGet {
			for _, d := range []door{h.mainDoor(), tcp} {
				if got := d.do(r.method, path, ""); got.status != 200 {
					t.Errorf("%s by %s: %d %s", what, d.name, got.status, got.body)
				}
			}
		}
	}
	if got := must(h.client.Pipeline(t.Context(), run.ID))(t); got.Status != daemon.PipelinePending {
		t.Errorf("somebody got in: %+v", got)
	}
}

// TestPipelineVerbs: each verb reaches the domain with its fields. The domain's own tests show what it does.
func TestPipelineVerbs(t *testing.T) {
	t.Parallel()
	h, ctx := build(t, nil), t.Context()
	for _, base := range pipelineBases {
		post := func(run *daemon.Pipeline, verb, body string) (p daemon.Pipeline) {
			t.Helper()
			got := h.mainDoor().do("POST", base+"/"+id(run.ID)+verb, body)
			if got.status != 200 {
				t.Fatalf("%s with %s: %d %s", verb, body, got.status, got.body)
			}
			check(t, json.Unmarshal(got.body, &p))
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
		if p := post(second, "/resume", `{"skip": true}`); !p.Open() || p.Steps[0].Status != daemon.StepSkipped {
			t.Errorf("resumed with skip: %+v", p)
		}
	}
	run := h.pipeline(nil)
	_, err := h.client.ResumePipeline(ctx, run.ID, false)
	wantError(t, err, daemon.KindConflict, "pipeline_not_failed", "")
	_, err = h.client.ApprovePipeline(ctx, run.ID, pipelines.Decision{})
	wantError(t, err, daemon.KindConflict, "not_waiting_for_approval", "")
	_, err = h.client.RejectPipeline(ctx, run.ID, pipelines.Decision{})
	wantError(t, err, daemon.KindConflict, "not_waiting_for_approval", "")
	must(h.client.AbortPipeline(ctx, run.ID))(t)
	_, err = h.client.AbortPipeline(ctx, run.ID)
	wantError(t, err, daemon.KindConflict, "pipeline_ended", "")
	if p := must(h.client.ResumePipeline(ctx, run.ID, true))(t); p.Steps[0].Status != daemon.StepSkipped {
		t.Errorf("resumed with skip by the client: %+v", p)
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
	before := must(h.store.LastEventID(ctx))(t)
	shown, waits := run.Steps[0].ID, run.Steps[1].ID
	for _, base := range pipelineBases {
		for _, verb := range []string{"/approve", "/reject"} {
			path := base + "/" + id(run.ID) + verb
			got := h.mainDoor().do("POST", path, fmt.Sprintf(`{"step_id": %d, "comment": "fine"}`, shown))
			got.wants(t, path+" for another step", 409, "another_step")
			if want := fmt.Sprintf("Pipeline %d waits at step 2 (reviewer) by now: look at it again", run.ID); got.shape(t, path).Error != want {
				t.Errorf("%s: %q, want %q", path, got.shape(t, path).Error, want)
			}
			for value, says := range map[string]string{`"7"`: "an integer", "1.5": "an integer", "0": "a positive integer", "-1": "a positive integer"} {
				got := h.mainDoor().do("POST", path, `{"step_id": `+value+`}`)
				got.wants(t, path+" with "+value, 400, "invalid_field")
				if want := `Field "step_id" must be ` + says; got.shape(t, path).Error != want {
					t.Errorf("%s with %s: %q, want %q", path, value, got.shape(t, path).Error, want)
				}
			}
		}
	}
	unchanged(h, "decisions about another step", before)

	if p := must(h.client.RejectPipeline(ctx, run.ID, pipelines.Decision{StepID: waits}))(t); p.Status != daemon.PipelineFailed {
		t.Errorf("rejected: %+v", p)
	}
	_, err := h.client.ApprovePipeline(ctx, run.ID, pipelines.Decision{StepID: waits})
	wantError(t, err, daemon.KindConflict, "not_waiting_for_approval", "")
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
			if got := h.mainDoor().do("POST", "/api/pipelines/"+id(run.ID)+verb, body); got.status != want {
				t.Errorf("%s with %s: %d %s, want %d", verb, body, got.status, got.body, want)
			}
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
	for _, base := range pipelineBases {
		body := fmt.Sprintf(`{"template": "quick", "title": "Mend", "prompt": "Mend it.", "cwd": %q}`, cwd)
		got := h.mainDoor().do("POST", base, body)
		var run daemon.Pipeline
		if err := json.Unmarshal(got.body, &run); err != nil || got.status != 201 || run.Title != "Mend" || run.Template != "quick" || run.Prompt != "Mend it." || run.Cwd != cwd || run.Branch != nil || len(run.Steps) != 2 {
			t.Errorf("POST %s: %d %s", base, got.status, got.body)
		}
	}
	for _, slash := range pipelineBases {
		slash += "/"
		body := fmt.Sprintf(`{"template": "quick", "title": "Mend", "prompt": "Mend it.", "cwd": %q}`, cwd)
		if got := h.mainDoor().do("POST", slash, body); got.status != 201 {
			t.Errorf("POST %s: %d %s", slash, got.status, got.body)
		}
		if got := h.mainDoor().do("GET", slash+"?limit=1", ""); got.status != 200 || !strings.HasPrefix(string(got.body), "[{") {
			t.Errorf("GET %s: %d %s", slash, got.status, got.body)
		}
	}
	for want, in := range map[string]struct {
		kind daemon.Kind
		in   pipelines.NewPipeline
	}{
		"unknown_template": {daemon.KindUnprocessable, pipelines.NewPipeline{Template: "nobody's", Title: "a", Prompt: "b", Cwd: cwd}},
		"bad_title":        {daemon.KindInvalid, pipelines.NewPipeline{Template: "quick", Prompt: "b", Cwd: cwd}},
		"bad_prompt":       {daemon.KindInvalid, pipelines.NewPipeline{Template: "quick", Title: "a", Cwd: cwd}},
		"bad_branch":       {daemon.KindInvalid, pipelines.NewPipeline{Template: "quick", Title: "a", Prompt: "b", Cwd: cwd, Branch: "-x"}},
		"bad_step":         {daemon.KindUnprocessable, pipelines.NewPipeline{Template: "quick", Title: "a", Prompt: "b", Cwd: cwd, Steps: []pipelines.StepChoice{{Step: 3, Model: "x"}}}},
		"bad_runtime":      {daemon.KindInvalid, pipelines.NewPipeline{Template: "quick", Title: "a", Prompt: "b", Cwd: cwd, Steps: []pipelines.StepChoice{{Runtime: "a b"}}}},
		"bad_model":        {daemon.KindInvalid, pipelines.NewPipeline{Template: "quick", Title: "a", Prompt: "b", Cwd: cwd, Steps: []pipelines.StepChoice{{Step: 1, Model: "--yolo"}}}},
		"unknown_runtime":  {daemon.KindUnprocessable, pipelines.NewPipeline{Template: "quick", Title: "a", Prompt: "b", Cwd: cwd, Steps: []pipelines.StepChoice{{Step: 2, Runtime: "emacs"}}}},
		"bad_directory":    {daemon.KindUnprocessable, pipelines.NewPipeline{Template: "quick", Title: "a", Prompt: "b", Cwd: "here"}},
	} {
		_, err := h.client.CreatePipeline(t.Context(), in.in)
		wantError(t, err, in.kind, want, "")
	}
	h.mainDoor().do("POST", "/pipelines", "").wants(t, "an empty body", 422, "unknown_template")
	refused := h.mainDoor().do("POST", "/pipelines", fmt.Sprintf(`{"template": "quick", "title": "Mend", "prompt": "Mend it.", "cwd": %q, "runtime": "emacs"}`, cwd))
	refused.wants(t, "an unknown runtime", 422, "unknown_runtime")
	if said := refused.shape(t, "an unknown runtime").Error; !strings.HasPrefix(said, `Step 1 (developer): Runtime "emacs" is not configured, but these are: claude`) {
		t.Errorf("an unknown runtime: %q, want the step and the runtimes that are known", said)
	}
}
