package storetest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/tell"
)

// drawer draws rows and actions. They depend only on its seed and on the rows of the model. Most of them look as
// the daemon writes them; now and then one is nonsense.
type drawer struct {
	t     testing.TB
	rand  *rand.Rand
	model daemon.Store
	n     int // how many actions were drawn before this one
	drawn int // how many unique numbers were drawn; see unique

	agents     []daemon.Agent
	handoffs   []daemon.Handoff
	deliveries []daemon.Delivery
	pipelines  []daemon.Pipeline
	worktrees  []daemon.Worktree
	events     []event.Event
	pushes     []tell.Push
}

func drawAction(t testing.TB, seed uint64, n int, model daemon.Store) action {
	t.Helper()
	d := &drawer{t: t, rand: rand.New(rand.NewPCG(seed, uint64(n))), model: model, n: n}
	ctx := t.Context()
	d.agents = result(model.Agents(ctx, daemon.AgentFilter{Limit: all}))(t)
	d.handoffs = result(model.Handoffs(ctx, daemon.HandoffFilter{Limit: all}))(t)
	for _, a := range d.agents {
		d.deliveries = append(d.deliveries, result(model.Deliveries(ctx, a.ID, 0, all))(t)...)
	}
	d.worktrees = result(model.Worktrees(ctx, daemon.WorktreeFilter{Limit: all}))(t)
	d.pipelines = result(model.Pipelines(ctx, daemon.PipelineFilter{Limit: all}))(t)
	d.events = result(model.Events(ctx, event.Filter{Limit: all}))(t)
	for _, host := range hosts {
		d.pushes = append(d.pushes, result(model.OpenPushes(ctx, host, ""))(t)...)
	}
	switch draw := d.rand.IntN(24); {
	case draw < 10:
		return d.commit()
	case draw < 13:
		return d.hook()
	case draw < 14:
		return d.mark()
	case draw < 15:
		return d.prefer()
	case draw < 16:
		return d.prune()
	case draw < 17:
		return d.push()
	case draw < 18 && len(d.agents) > 0:
		return d.use()
	}
	return d.list()
}

// mostly is false once in thirty times: then the caller draws nonsense.
func (d *drawer) mostly() bool { return d.rand.IntN(30) > 0 }

// half is true every other time.
func (d *drawer) half() bool { return d.rand.IntN(2) == 0 }

func one[T any](d *drawer, of ...T) T { return of[d.rand.IntN(len(of))] }

// maybe returns v or nil.
func maybe[T any](d *drawer, v T) *T {
	if d.half() {
		return nil
	}
	return &v
}

// unique returns a number that no other call returns.
func (d *drawer) unique() int {
	d.drawn++
	return d.n*1000 + d.drawn
}

// at draws a time that differs from every other drawn time by at least a microsecond. It has nanoseconds too,
// which a store does not keep.
func (d *drawer) at() time.Time {
	t := drawnUntil.Add(-time.Duration(1+d.rand.IntN(1000)) * time.Hour)
	return t.Add(time.Duration(d.unique()) * time.Microsecond).Add(time.Duration(d.rand.IntN(1000)))
}

// id draws the id of one of the rows, now and then an unknown one.
func id[T any](d *drawer, rows []T, of func(*T) int64) int64 {
	if len(rows) == 0 || !d.mostly() {
		return 999
	}
	return of(&rows[d.rand.IntN(len(rows))])
}

func (d *drawer) agentID() int64 {
	return id(d, d.agents, func(a *daemon.Agent) int64 { return a.ID })
}

func (d *drawer) handoffID() int64 {
	return id(d, d.handoffs, func(h *daemon.Handoff) int64 { return h.ID })
}

func (d *drawer) deliveryID() int64 {
	return id(d, d.deliveries, func(x *daemon.Delivery) int64 { return x.ID })
}

func (d *drawer) pipelineID() int64 {
	return id(d, d.pipelines, func(p *daemon.Pipeline) int64 { return p.ID })
}

func (d *drawer) eventID() int64 {
	return id(d, d.events, func(e *event.Event) int64 { return e.ID })
}

var (
	someAgentStates      = []daemon.AgentState{daemon.Starting, daemon.Idle, daemon.Working, daemon.Waiting, daemon.Limited, daemon.Ended}
	somePhases           = []daemon.Phase{daemon.Requested, daemon.Verifying, daemon.Recorded, daemon.BriefingHeirs, daemon.Briefing, daemon.Completed, daemon.Failed, daemon.Cancelled}
	someDeliveryStates   = []daemon.DeliveryState{daemon.DeliveryQueued, daemon.DeliveryQueued, daemon.DeliveryTyping, daemon.DeliveryTyped, daemon.DeliveryDone}
	somePipelineStatuses = []daemon.PipelineStatus{daemon.PipelinePending, daemon.PipelineRunning, daemon.PipelineWaiting, daemon.PipelineDone, daemon.PipelineFailed}
	someStepStatuses     = []daemon.StepStatus{daemon.StepPending, daemon.StepPending, daemon.StepRunning, daemon.StepDone, daemon.StepFailed, daemon.StepSkipped}
)

// word draws a text. Some texts have bytes that no column can hold.
func (d *drawer) word() string {
	return one(d, "", "alpha", "Beta", "100% ünder_way", "a\x00b", "\xff", `say "hi" \ there`)
}

func (d *drawer) persona() *string { return one(d, nil, new("developer"), new("reviewer")) }

func (d *drawer) newID(kind daemon.IDKind) int64 { return int64(d.unique()) + 1000*kindNumber(kind) }

// kindNumber gives each kind of row a range of ids, so that a row of one kind never passes for one of another.
func kindNumber(kind daemon.IDKind) int64 {
	return int64(1e6) * int64(1+slices.Index([]daemon.IDKind{daemon.AgentIDs, daemon.HandoffIDs, daemon.DeliveryIDs, daemon.PipelineIDs, daemon.StepIDs, daemon.OutputIDs, daemon.WorktreeIDs}, kind))
}

// fill gives each field of a row a value of its own, and empties some. What the row's kind allows no other value for
// is drawn afterwards.
func (d *drawer) fill(row any) {
	v := reflect.ValueOf(row).Elem()
	fill(v, func() int64 { return int64(d.unique()) })
	d.thin(v, false)
}

// thin empties some of the fields of a struct, and gives others a text that no column can hold.
func (d *drawer) thin(v reflect.Value, inJSON bool) {
	for i := range v.NumField() {
		switch f := v.Field(i); f.Kind() {
		case reflect.Bool:
			f.SetBool(d.half())
		case reflect.String:
			if f.Type() == reflect.TypeFor[string]() && d.half() { // the values of other types are words of the program
				f.SetString(d.word())
			}
		case reflect.Struct:
			if f.Type() == reflect.TypeFor[time.Time]() {
				f.Set(reflect.ValueOf(d.at()))
			} else {
				d.thin(f, inJSON)
			}
		case reflect.Pointer:
			if d.half() {
				f.SetZero()
			} else if f.Elem().Kind() == reflect.Struct && f.Type() != reflect.TypeFor[*time.Time]() {
				d.thin(f.Elem(), true)
			} else if f.Type() == reflect.TypeFor[*string]() {
				f.Elem().SetString(d.word())
			}
		case reflect.Slice:
			if !inJSON && d.half() {
				f.SetZero()
			} else if f.Type() == reflect.TypeFor[[]string]() {
				f.Index(0).SetString(d.word())
			}
		}
	}
}

func (d *drawer) agent(was *daemon.Agent) *daemon.Agent {
	a := &daemon.Agent{}
	d.fill(a)
	a.ID, a.Rev, a.SuccessorID = was.ID, was.Rev, nil
	a.Persona, a.Host, a.State, a.EndedAt = d.persona(), one(d, hosts...), one(d, someAgentStates...), nil
	if (a.State == daemon.Ended) == d.mostly() {
		a.EndedAt = new(d.at())
	}
	a.PID, a.PIDStart, a.SessionID = d.rand.IntN(3), uint64(d.rand.IntN(2)), maybe(d, one(d, "s1", "s2"))
	a.EndCause, a.EndCode = one(d, "", "tmux"), one(d, "", daemon.EndedGone, daemon.EndedOther)
	a.Options = one(d, nil, []string{}, []string{d.word(), "-x"})
	a.LaunchHash, a.TmuxSession = one(d, nil, []byte{}, fmt.Append(nil, d.unique())), one(d, "", fmt.Sprint("session-", d.unique()))
	a.StopStage = one(d, daemon.StopNone, daemon.StopTerm)
	a.Hold, a.Note = d.hold()
	a.LastStop, a.WorkStop = int64(d.rand.IntN(20)), int64(d.rand.IntN(20))
	a.PreviousAgentID, a.PipelineID, a.StepID, a.WorktreeID = nil, nil, nil, nil
	if d.half() && len(d.worktrees) > 0 {
		a.WorktreeID = new(worktreeID(d))
	}
	if d.half() && len(d.agents) > 0 {
		a.PreviousAgentID = new(d.agentID())
	}
	if d.half() && len(d.pipelines) > 0 {
		p := one(d, d.pipelines...)
		a.PipelineID = &p.ID
		if len(p.Steps) > 0 {
			a.StepID = new(one(d, p.Steps...).ID)
		}
	}
	if d.rand.IntN(4) == 0 {
		a.Options = one(d, nil, []string{}, []string{d.word(), "-x"})
		a.LaunchHash, a.TmuxSession = one(d, a.LaunchHash, []byte("l1")), one(d, a.TmuxSession, "taken")
	}
	if !d.mostly() {
		a.State, a.StopStage = one(d, "dead", a.State), one(d, "asked", a.StopStage)
	}
	return a
}

func (d *drawer) handoff(was *daemon.Handoff) *daemon.Handoff {
	h := &daemon.Handoff{}
	d.fill(h)
	h.ID, h.Seq, h.Status, h.Heirs, h.ReadAt, h.UnreadAt = was.ID, was.Seq, was.Status, was.Heirs, nil, nil
	if !d.mostly() {
		h.Ref, h.FilePath = one(d, "ref", h.Ref), one(d, "/handoffs/taken", h.FilePath)
	} else {
		h.Ref, h.FilePath = fmt.Sprint("ref-", d.unique()), fmt.Sprint("/handoffs/", d.unique())
	}
	h.AgentID, h.Persona, h.Host = d.agentID(), one(d, "developer", "reviewer"), one(d, hosts...)
	h.Phase, h.RecordedAt = one(d, somePhases...), nil
	switch h.Phase {
	case daemon.Recorded, daemon.BriefingHeirs, daemon.Briefing, daemon.Completed:
		h.RecordedAt = new(d.at())
	case daemon.Failed:
		h.RecordedAt = maybe(d, d.at())
	}
	if !d.mostly() {
		h.Phase = one(d, "done", somePhases[d.rand.IntN(len(somePhases))])
	}
	h.SuccessorID, h.DeliveryID = nil, nil
	d.heirs(h)
	if d.half() && len(d.deliveries) > 0 {
		h.DeliveryID = new(d.deliveryID())
	}
	if heir := &h.Heirs[0]; h.HeirsFirst() && d.half() {
		h.SuccessorID = new(d.agentID())
	} else if !h.HeirsFirst() && heir.AgentID != nil { // its phases are those of the handoff
		h.SuccessorID, heir.Phase, heir.PhaseAt, heir.DeliveryID = heir.AgentID, h.Phase, &h.PhaseAt, h.DeliveryID
		if h.Phase == daemon.Completed {
			heir.BriefedAt = &h.PhaseAt
		}
	}
	h.Error = one(d, nil, &daemon.Failure{Phase: one(d, daemon.Briefing, daemon.BriefingHeirs), Code: "c", Message: d.word()})
	h.Hold, h.Note = d.hold()
	return h
}

func (d *drawer) delivery(was *daemon.Delivery) *daemon.Delivery {
	x := &daemon.Delivery{}
	d.fill(x)
	x.ID, x.Rev, x.AgentID, x.Kind = was.ID, was.Rev, d.agentID(), one(d, daemon.KindMessage, daemon.KindPrompt, daemon.KindCommand)
	x.EvidenceCode = one(d, "", daemon.EvidenceNoPane, daemon.EvidenceEnded, "unknown")
	x.Evidence = one(d, x.Evidence, x.EvidenceCode.Words(), daemon.EvidenceChanged.Words()) // an older daemon writes words alone
	x.State, x.Verdict, x.HandoffID, x.FromAgentID, x.PassedFrom = one(d, someDeliveryStates...), nil, nil, nil, nil
	if (x.State == daemon.DeliveryDone) == d.mostly() {
		x.Verdict = new(one(d, daemon.Submitted, daemon.Unconfirmed))
	}
	if d.half() {
		x.FromAgentID, x.PassedFrom = new(d.agentID()), new(d.agentID())
	}
	if d.half() && len(d.handoffs) > 0 {
		x.HandoffID = new(d.handoffID())
	}
	if !d.mostly() {
		x.Kind, x.State = one(d, "joke", x.Kind), one(d, "sent", x.State)
	}
	return x
}

func (d *drawer) pipeline(was *daemon.Pipeline) *daemon.Pipeline {
	p := &daemon.Pipeline{}
	d.fill(p)
	p.ID, p.Seq, p.Steps, p.CurrentAgentID = was.ID, was.Seq, was.Steps, nil
	p.Template, p.Host, p.Status, p.Error, p.FinishedAt = one(d, "quick_fix", "full_feature"), one(d, hosts...), one(d, somePipelineStatuses...), nil, nil
	if p.Status == daemon.PipelineFailed && d.mostly() {
		p.Error = new(d.word())
	}
	if !p.Open() && d.mostly() {
		p.FinishedAt = new(d.at())
	}
	if !d.mostly() {
		p.Status = one(d, "broken", p.Status)
	}
	return p
}

// step draws a step that keeps its place in the pipeline.
func (d *drawer) step(was *daemon.Step) *daemon.Step {
	s := &daemon.Step{}
	d.fill(s)
	s.ID, s.PipelineID, s.OrderIndex, s.Number, s.Round = was.ID, was.PipelineID, was.OrderIndex, was.Number, was.Round
	s.CameFrom, s.CameBy, s.AgentIDs, s.LatestHandoff = was.CameFrom, was.CameBy, was.AgentIDs, was.LatestHandoff
	s.Status = one(d, someStepStatuses...)
	if !d.mostly() {
		s.Status = one(d, "broken", s.Status)
	}
	return s
}

// furtherRound puts a new row into the order of a pipeline's steps, and moves those behind it. With some, the move is wrong.
func (d *drawer) furtherRound(m *daemon.PipelineMove, steps []daemon.Step) {
	at := 1 + d.rand.IntN(len(steps))
	for i := at; i < len(steps); i++ {
		steps[i].OrderIndex++
		if d.mostly() {
			m.Steps = append(m.Steps, &steps[i])
		}
	}
	row := d.step(&daemon.Step{ID: d.newID(daemon.StepIDs), OrderIndex: at, Number: 1, Round: 2, CameBy: d.word()})
	row.CameFrom = one(d, &steps[at-1].ID, &steps[0].ID)
	if !d.mostly() {
		row.CameFrom = new(int64(999))
	}
	m.NewSteps = append(m.NewSteps, row)
}

func (d *drawer) newPipeline() *daemon.Pipeline {
	p := d.pipeline(&daemon.Pipeline{ID: d.newID(daemon.PipelineIDs)})
	for i := range d.rand.IntN(3) {
		p.Steps = append(p.Steps, *d.step(&daemon.Step{ID: d.newID(daemon.StepIDs), OrderIndex: i, Number: i + 1, Round: 1}))
	}
	if len(p.Steps) > 1 && !d.mostly() {
		p.Steps[1].OrderIndex = 0
	}
	return p
}

func (d *drawer) event() *event.Event {
	e := &event.Event{
		Type: one[event.Type](d, "agent_idle", "agent_working", "agent_created", "agent_messaged", "handoff_failed", "Other"), Host: one(d, hosts...), Alert: d.rand.IntN(4) == 0,
		Notice: one(d, event.NoticeNone, event.NoticeNone, event.NoticeWaiting, event.NoticeCompleted, event.NoticeFinished), Cause: d.word(),
		Payload: json.RawMessage(one(d, "", "{}", `"text"`, `{"bb": [], "c": 1.50, "a": "Ünder\u0000", "a": [1e3, null]}`, "broken",
			fmt.Sprintf(`{"delivery_id": %d}`, d.deliveryID()), fmt.Sprintf(`{"delivery_id": "%d"}`, d.deliveryID()))),
	}
	if d.mostly() {
		e.At = d.at()
	}
	if d.half() {
		e.AgentID = new(d.agentID())
	}
	if d.half() {
		e.HandoffID = new(d.handoffID())
	}
	if d.half() {
		e.PipelineID = new(d.pipelineID())
	}
	if d.rand.IntN(60) == 0 {
		e.Notice = "broken"
	}
	return e
}
