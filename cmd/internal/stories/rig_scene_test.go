//go:build e2e

package stories

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/understudyd/understudy/cmd/internal/cmdtest"
	"github.com/understudyd/understudy/cmd/internal/git"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/data"
	"github.com/understudyd/understudy/personas"
)

// scene is what a busy person has, as rows that no daemon works on. The maps find each row by a word for what it
// shows.
type scene struct {
	agents, handoffs, runs map[string]int64

	r     *rig
	store daemon.Store
	own   string // the host of the rig's daemon, for rows that have ended and can be resumed
	now   time.Time
	say   func(string) string // changes each short text that an agent writes
	write func(string) string // changes each long text that an agent writes
}

const farHost = "build-box" // a host without a daemon

// cast lists the agents of a scene.
var cast = []struct {
	key, slug     string
	state         daemon.AgentState
	minutes, used int // in the state; percent of the context, 0 for unknown
	asks, last    string
	note          string
}{
	{"asks", "developer-con-1", daemon.Waiting, 58, 46, "permission for Bash: git push --force-with-lease origin parcels",
		"I have rebased the branch onto main. Two of the commits were in conflict with the change of the scanner; I kept both.", ""},
	{"dialog", "reviewer-ada-1", daemon.Waiting, 31, 12, "", "", ""},
	{"full", "architect-ivo-1", daemon.Idle, 12, 93, "", "The plan has four parts. The first is done, the second waits for the schema.", ""},
	{"noted", "qa-sol-1", daemon.Idle, 55, 20, "", "Ready.", "its pane does not take what is typed: somebody has scrolled back in it; press q there"},
	{"writing", "developer-con-1", daemon.Working, 2, 71, "", "I am writing the handoff document now.", ""},
	{"failing", "designer-lin-1", daemon.Idle, 180, 64, "", "I could not find the folder that I am to write to.", ""},
	{"building", "developer-con-1", daemon.Working, 9, 34, "", "The cause is that a scan within a second overwrites the one before: the key is the second. I will add the counter to it, migrate the rows and look at the three callers.", ""},
	{"testing", "tester-kit-1", daemon.Working, 1, 77, "", "412 of 430 tests pass. The others fail in the same place.", ""},
	{"reading", "senior-reviewer-vera-1", daemon.Working, 0, 3, "", "", ""},
	{"resting", "product-owner-maya-1", daemon.Idle, 2000, 58, "", "All three issues are written. Nothing is left to do for me until they are reviewed.", ""},
	{"new", "qa-sol-1", daemon.Starting, 0, 0, "", "", ""},
	{"heir", "architect-ivo-1", daemon.Working, 3, 9, "", "I have taken over: the second part, the schema, is what I begin with.", ""},
}

// stageScene puts a scene into the database of a rig whose daemon runs.
func stageScene(r *rig, say, write func(string) string) *scene {
	r.t.Helper()
	host := value(r.dir.HostID())(r.t)
	s := &scene{
		agents: map[string]int64{}, handoffs: map[string]int64{}, runs: map[string]int64{},
		r: r, store: r.database(), own: host, now: time.Now().UTC().Truncate(time.Second), say: say, write: write,
	}
	for _, key := range []string{"old", "past"} {
		s.addAgent(key, "architect-ivo-1", daemon.Ended, 90, func(a *daemon.Agent) {
			a.EndedAt, a.EndReason = new(s.now.Add(-4*time.Minute)), new(say("its process is gone"))
			if key == "past" {
				a.Host = host // its session can be opened again
				s.changeFiles(a)
			}
		})
	}
	for _, role := range cast {
		s.addAgent(role.key, role.slug, role.state, role.used, func(a *daemon.Agent) {
			a.StateAt = s.now.Add(-time.Duration(role.minutes) * time.Minute)
			a.LastMessage, a.WaitsFor, a.Note = s.sayIfAny(role.last), s.sayIfAny(role.asks), s.sayIfAny(role.note)
			a.Asked, a.Repository, a.Branch = s.say("Make two scans within a second count as two"), s.say("parcels"), s.say("fix/"+role.key)
			if role.key == "resting" {
				a.Unread, a.FinishedAt = true, &a.StateAt
			}
			if role.key == "heir" {
				a.PreviousAgentID, a.Generation, a.CreatedAt = new(s.agents["old"]), 2, s.now.Add(-4*time.Minute)
			}
		})
	}
	s.stagePermission()
	s.stageHandoffs()
	s.stagePipelines()
	s.stageWords()
	s.stageTime()
	return s
}

// stagePermission lets an agent ask for what a person can allow or deny from the seat.
func (s *scene) stagePermission() {
	s.r.t.Helper()
	push := s.say("git push --force-with-lease origin parcels")
	s.commit(&daemon.Change{NewPermissions: []*daemon.Permission{{ID: 400 + s.agents["asks"], AgentID: s.agents["asks"], Host: farHost, Tool: s.say("Bash"), Subject: push,
		Description: s.say("Push the rebased branch"), Shown: push, Whole: true, Rule: "Bash(" + push + ")", State: daemon.PermissionOpen,
		AskedAt: s.now.Add(-58 * time.Minute), HeldUntil: new(s.now.Add(time.Hour))}}})
}

// changeFiles gives an agent a directory in which files have changed since it began.
func (s *scene) changeFiles(a *daemon.Agent) {
	s.r.t.Helper()
	repo := cmdtest.NewRepo(s.r.t)
	repo.Write("parcels.go", "package parcels\n\nfunc Weigh() int {\n\treturn 1\n}\n")
	repo.Write("logo.bin", "a\x00b")
	repo.Commit(s.now.Add(-time.Hour))
	base := value(git.NewDiffer(cmdtest.GitTestEnv()).Begin(s.r.t.Context(), repo.Dir, a.CreatedAt))(s.r.t)
	a.Cwd, a.Base = repo.Dir, &base
	said := strings.ReplaceAll(s.say("Weigh returns grams, and its comment is long enough to need more than a phone's width."), "\x00", "") // not binary
	repo.Write("parcels.go", "package parcels\n\n// "+said+"\nfunc Weigh() int {\n\treturn 1000\n}\n")
	repo.Write("logo.bin", "a\x00bcd")
	repo.Write("docs/a-rather-long-name-of-a-file-that-a-phone-must-fold-somewhere.md", "# New\n")
}

// sayIfAny is text as an agent would have written it; "" stays empty.
func (s *scene) sayIfAny(text string) string {
	if text != "" {
		text = s.say(text)
	}
	return text
}

func (s *scene) commit(c *daemon.Change) {
	s.r.t.Helper()
	if err := s.store.Commit(s.r.t.Context(), c); err != nil {
		s.r.t.Fatal(err)
	}
}

func (s *scene) nextID(kind daemon.IDKind) int64 {
	s.r.t.Helper()
	return value(s.store.NextID(s.r.t.Context(), kind))(s.r.t)
}

func (s *scene) addAgent(key, slug string, state daemon.AgentState, used int, change func(*daemon.Agent)) {
	s.r.t.Helper()
	id := s.nextID(daemon.AgentIDs)
	began := s.now.Add(-50 * time.Hour)
	a := &daemon.Agent{
		ID: id, Name: s.say(slug), Persona: &slug, Runtime: s.say("claude"), Host: farHost, State: state, StateAt: began, Generation: 1,
		AgentSession: daemon.AgentSession{Cwd: s.say("/home/dev/parcels"),
			SessionID: new(s.say("0b6ff3ee-51a2-4f0c-9d0e-" + fmt.Sprint(id)))}, CreatedAt: began, RegisteredAt: &began, AgentPane: daemon.AgentPane{Pane: new("%7"), PaneSocket: "/nowhere"},
	}
	if used > 0 {
		tier := daemon.TierNormal
		if used >= 90 {
			tier = daemon.TierHigh
		} else if used >= 70 {
			tier = daemon.TierWarn
		}
		a.Context = &daemon.ContextUse{Tokens: int64(used) * 2000, Limit: new(int64(200_000)), Percent: new(float64(used)), Tier: tier, Source: "statusline"}
	}
	change(a)
	s.agents[key] = id
	s.commit(&daemon.Change{NewAgent: a, Events: []*event.Event{s.newEvent("agent_created", a.ID, map[string]any{"name": a.Name, "persona": slug})}})
}

func (s *scene) newEvent(typ string, agentID int64, payload map[string]any) *event.Event {
	s.r.t.Helper()
	body := value(json.Marshal(payload))(s.r.t)
	return &event.Event{Type: event.Type(typ), Host: farHost, AgentID: &agentID, Payload: body}
}

func (s *scene) stageHandoffs() {
	s.r.t.Helper()
	s.addHandoff("open", "writing", farHost, func(h *daemon.Handoff) {
		h.Note, h.Deadline = s.say("it has not begun to write; it reads the tests first"), new(s.now.Add(12*time.Minute))
	}, daemon.Instructing, daemon.AwaitingDocument)
	s.addHandoff("failed", "failing", s.own, func(h *daemon.Handoff) {
		h.Error = &daemon.Failure{Phase: daemon.Verifying, Code: data.DocumentSaysNothing,
			Message: s.say("The document has fewer than 15 words"), Hint: s.say("look at its screen, then retry")}
	}, daemon.Instructing, daemon.AwaitingDocument, daemon.Verifying, daemon.Failed)
	s.addHandoff("completed", "old", s.own, func(h *daemon.Handoff) {
		h.SuccessorID, h.Degraded, h.ContextValidated = new(s.agents["heir"]), true, true
		h.Warnings = []string{s.say("The document names src/scan.go, which is not there.")}
		h.ContextPath, h.InjectionPrompt = new(s.say("/home/dev/.understudy/context.md")), new(s.write("Read the context file first."))
		h.ContextChecksum = new("9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08")
		h.Structured = &data.Structured{WhatWasDone: new(s.write("The first part.")), DecisionsMade: new(s.write("- one key\n- no lock")),
			OpenQuestions: new(s.write("Who owns the schema?")), NextAgentContext: new(s.write("Begin with `schema.sql`."))}
		h.Metrics.TotalMS, h.Metrics.ContextSizeBytes, h.Metrics.DurationMS, h.Metrics.MessagesTransferred = 48_200, 18_000, 41.207, 12
	}, daemon.Instructing, daemon.AwaitingDocument, daemon.Verifying, daemon.Recorded, daemon.ShuttingDown, daemon.Spawning,
		daemon.AwaitingRegistration, daemon.InjectingSkill, daemon.Briefing, daemon.Completed)
}

// addHandoff commits a handoff and its transitions.
func (s *scene) addHandoff(key, agent, host string, change func(*daemon.Handoff), moves ...daemon.Phase) {
	s.r.t.Helper()
	id := s.nextID(daemon.HandoffIDs)
	s.handoffs[key] = id
	agentID, persona := s.agents[agent], "architect-ivo-1"
	began := s.now.Add(-4 * time.Minute)
	h := &daemon.Handoff{
		ID: id, Ref: fmt.Sprint("handoff-", id), AgentID: agentID, Persona: persona, Reason: s.say("context_limit"), Focus: s.say("The schema first.\nThen the callers."),
		Mode: daemon.ModeAgent, Phase: daemon.Requested, FilePath: s.say("/home/dev/.understudy/handoff.md") + fmt.Sprint(id), SourceAgent: s.say(persona),
		TargetAgent: s.say(persona), Generation: 1, Warnings: []string{}, Metrics: daemon.Metrics{Phases: map[daemon.Phase]int64{}},
		CreatedAt: began, PhaseAt: began, Host: farHost, // No daemon takes it up before its last transition.
	}
	change(h)
	if h.Heirs == nil {
		h.Heirs = []daemon.HandoffHeir{{Heir: daemon.Heir{Persona: persona}, AgentID: h.SuccessorID}}
	}
	failure := h.Error
	h.Error = nil
	s.commit(&daemon.Change{NewHandoff: h, Events: []*event.Event{{Type: "handoff_started", Host: host, AgentID: &agentID, HandoffID: &id, Payload: json.RawMessage(`{"reason":"context_limit"}`)}}})
	for i, to := range moves {
		if i == len(moves)-1 {
			h.Host = host
		}
		c := &daemon.Change{Move: &daemon.Move{Handoff: h, From: h.Phase, Cause: s.say("the agent's Stop came")}}
		at := began.Add(time.Duration(i+1) * 4 * time.Second)
		h.Metrics.Phases[h.Phase] += 4000
		h.Phase, h.PhaseAt = to, at
		switch to {
		case daemon.Recorded:
			h.RecordedAt = &at
			c.NewRecord = &daemon.Record{HandoffID: id, AgentID: agentID, Agent: h.SourceAgent, Persona: persona, At: at,
				Document: s.write(paper), Context: s.write(paper),
				Decisions:  []data.Decision{{Agent: h.SourceAgent, Summary: s.say("One key for all scans"), Rationale: s.say("two keys would drift apart"), RelatedArtifacts: []string{s.say("src/scan.go")}}},
				Todos:      []data.Todo{{Text: s.say("Mend the three callers"), Status: "in_progress"}, {Text: s.say("Sweep"), Status: "pending"}},
				References: []data.Reference{{Path: s.say("src/scan.go"), Note: "modified, +3 -1"}},
				Messages:   []data.Message{{Role: "user", Text: s.write("Begin with the schema."), At: at}, {Role: "assistant", Text: s.write(paper), At: at}}}
		case daemon.Failed:
			h.Error, h.CompletedAt = failure, &at
		case daemon.Completed:
			h.CompletedAt = &at
		}
		s.commit(c)
	}
}

// paper is a document as agents write them.
const paper = `# Handoff: parcels

## What Was Done
- The key of a scan has a **counter** now, see ` + "`scan.go`" + `.
- [x] tests
- [ ] the three callers

## Decisions
| what | why |
|---|---|
| one key | a lock would be *slow* |

> Nobody has looked at the old rows yet.

` + "```go\nfunc key(s Scan) string { return fmt.Sprintf(\"%d-%d\", s.At.Unix(), s.N) }\n```" + `

More is in [the issue](https://example.com/issues/12).
`

func (s *scene) stagePipelines() {
	s.r.t.Helper()
	done, failed := daemon.StepDone, daemon.StepFailed
	s.addPipeline("approval", daemon.PipelineWaiting, farHost, nil, done, done, daemon.StepPending, daemon.StepPending)
	s.addPipeline("failed", daemon.PipelineFailed, s.own, func(p *daemon.Pipeline) {
		p.Error, p.ErrorCode, p.Hint = new(s.say("Step 2 (tester-kit-1): its agent ended before its turn was over")), "agent_gone", s.say("resume the run, or skip the step")
		p.Warnings = []string{s.say("The work tree has files that are in no commit.")}
		p.Branch, p.Worktree = new(s.say("feature/parcels")), new(s.say("/home/dev/.understudy/worktrees/2"))
	}, done, failed, daemon.StepPending)
	s.addPipeline("running", daemon.PipelineRunning, farHost, func(p *daemon.Pipeline) { p.Note = s.say("step 2 is reminded of its end") }, daemon.StepSkipped, daemon.StepRunning, daemon.StepPending)
	s.addPipeline("done", daemon.PipelineDone, s.own, nil, done, done)
}

// addPipeline commits a pipeline whose steps have these statuses. Steps that are done have an output.
func (s *scene) addPipeline(key string, status daemon.PipelineStatus, host string, change func(*daemon.Pipeline), steps ...daemon.StepStatus) {
	s.r.t.Helper()
	began, ended := s.now.Add(-40*time.Minute), s.now.Add(-time.Minute)
	p := &daemon.Pipeline{
		ID: s.nextID(daemon.PipelineIDs), Title: s.say("Scans within a second"),
		Template: "full_feature", Prompt: s.write("A scan within a second must not overwrite the one before."), Cwd: s.say("/home/dev/parcels"), WorkDir: "/",
		Host: host, Status: status, Warnings: []string{}, CreatedAt: began, UpdatedAt: began, StartedAt: &began,
	}
	if change != nil {
		change(p)
	}
	if !p.Open() {
		p.FinishedAt = &ended
	}
	for i, of := range steps {
		step := daemon.Step{ID: s.nextID(daemon.StepIDs), Number: i + 1, Round: 1, MaxRounds: 3,
			AgentName: s.say([]string{"architect", "tester-kit-1", "developer", "reviewer"}[i]), OrderIndex: i, Description: s.say("It says what is to be done, and in which order."),
			Approval: i == 2, Status: of, Input: s.write("You are the step's agent.")}
		if i > 0 {
			step.CameFrom = &p.Steps[i-1].ID
		}
		switch i {
		case 2: // sent back
			step.Number, step.Round, step.CameBy = 2, 2, s.say("Verdict: changes requested")
		case 3:
			step.Next = []personas.Rule{{When: personas.Condition{Heading: s.say("Verdict"), Contains: s.say("changes requested")}, Goto: 1}}
		}
		if of != daemon.StepPending {
			step.StartedAt = new(began.Add(time.Duration(10*i+1) * time.Minute))
		}
		if of == daemon.StepDone || of == daemon.StepFailed || of == daemon.StepSkipped {
			step.FinishedAt = new(began.Add(time.Duration(10*i+9) * time.Minute))
		}
		if of == daemon.StepFailed {
			step.Error = new(s.say("Its agent ended before its turn was over"))
		}
		p.Steps = append(p.Steps, step)
	}
	s.runs[key] = p.ID
	s.commit(&daemon.Change{NewPipeline: p, Events: []*event.Event{{Type: "pipeline_created", Host: host, PipelineID: &p.ID, Payload: json.RawMessage(`{"template":"full_feature"}`)}}})
	for i := range p.Steps {
		s.addStepAgent(p, &p.Steps[i])
	}
}

// addStepAgent commits the agent of a step, and the output of a step that is done.
func (s *scene) addStepAgent(p *daemon.Pipeline, step *daemon.Step) {
	s.r.t.Helper()
	if !slices.Contains([]daemon.StepStatus{daemon.StepDone, daemon.StepFailed, daemon.StepRunning}, step.Status) {
		return
	}
	state := daemon.Ended
	if step.Status == daemon.StepRunning {
		state = daemon.Working
	}
	key := fmt.Sprintf("step-%d", step.ID)
	s.addAgent(key, "tester-kit-1", state, 40, func(a *daemon.Agent) {
		a.PipelineID, a.StepID = &p.ID, &step.ID
		if state == daemon.Ended {
			a.EndedAt, a.EndReason = step.FinishedAt, new(s.say("its step is done"))
		}
	})
	if step.Status == daemon.StepDone {
		s.commit(&daemon.Change{NewOutput: &daemon.StepHandoff{
			ID: s.nextID(daemon.OutputIDs), StepID: step.ID, AgentID: s.agents[key],
			ContentMD: s.write(paper), CreatedAt: s.now,
		}})
	}
}

// stageWords gives one agent deliveries, and events that hold text of agents.
func (s *scene) stageWords() {
	s.r.t.Helper()
	id := s.agents["heir"]
	for _, v := range []daemon.Verdict{daemon.Submitted, daemon.NotSubmitted, ""} {
		d := &daemon.Delivery{ID: s.nextID(daemon.DeliveryIDs), AgentID: id, Kind: daemon.KindMessage,
			Text: s.write("Look at the three callers, too."), State: daemon.DeliveryQueued, CreatedAt: s.now}
		if v != "" {
			d.State, d.Verdict, d.Evidence, d.DecidedAt = daemon.DeliveryDone, &v, s.say("the hook of its prompt came"), &s.now
		}
		s.commit(&daemon.Change{NewDeliveries: []*daemon.Delivery{d}})
	}
	for _, typ := range []string{"agent_registered", "agent_working", "agent_waiting", "delivery_submitted", "agent_failed"} {
		s.commit(&daemon.Change{Events: []*event.Event{s.newEvent(typ, id, map[string]any{
			"session_id": s.say("0b6ff3ee"), "evidence": s.say("its hook came"), "kind": "message", "code": s.say("agent_gone")})}})
	}
	s.commit(&daemon.Change{Events: []*event.Event{s.newEvent("agent_stop_failed", id, map[string]any{"message": s.say("Agent 3 does not end.")})}})
}

// page is a page of the dashboard.
type page struct{ name, path string }

// pages lists every page that shows something of the scene.
func (s *scene) pages() []page {
	at := func(form string, id int64) string { return fmt.Sprintf(form, id) }
	return []page{
		{"agents", "/"},
		{"agent-week", at("/ui/agents/%d?span=week", s.agents["past"])},
		{"agent", at("/ui/agents/%d", s.agents["heir"])},
		{"agent-waiting", at("/ui/agents/%d", s.agents["asks"])},
		{"diff", at("/ui/agents/%d/diff", s.agents["past"])},
		{"agent-ended", at("/ui/agents/%d", s.agents["past"])},
		{"handoffs", "/ui/handoffs"},
		{"handoff-open", at("/ui/handoffs/%d", s.handoffs["open"])},
		{"handoff-failed", at("/ui/handoffs/%d", s.handoffs["failed"])},
		{"handoff-completed", at("/ui/handoffs/%d", s.handoffs["completed"])},
		{"document", at("/ui/handoffs/%d/document", s.handoffs["completed"])},
		{"context", at("/ui/handoffs/%d/context", s.handoffs["completed"])},
		{"personas", "/ui/personas"},
		{"persona", "/ui/personas/architect-ivo-1"},
		{"pipelines", "/ui/pipelines"},
		{"pipeline-approval", at("/ui/pipelines/%d", s.runs["approval"])},
		{"pipeline-failed", at("/ui/pipelines/%d", s.runs["failed"])},
		{"pipeline-running", at("/ui/pipelines/%d", s.runs["running"])},
		{"pipeline-done", at("/ui/pipelines/%d", s.runs["done"])},
		{"log", "/ui/log"},
		{"settings", "/ui/settings"},
	}
}
