package sim

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/agents"
	"github.com/understudyd/understudy/daemon/handoffs"
	"github.com/understudyd/understudy/daemon/house"
	"github.com/understudyd/understudy/tmux"
)

// people starts everybody who acts in a run: operators, others at the panes, and chance. Each is a goroutine that acts
// only when the schedule lets it go.
func (w *world) people() {
	for i, h := range w.hosts {
		n := 1 + w.rng.IntN(2)
		for j := range n {
			w.employ(fmt.Sprintf("operator of %s/%d", h.name, j), func(p *person) { p.operate(h, personaSlugs[(i+j)%len(personaSlugs)]) })
		}
		if w.rng.IntN(3) == 0 {
			w.employ("director of "+h.name, func(p *person) { p.direct(h) })
		}
		if w.rng.IntN(4) == 0 {
			w.employ("worker on "+h.name, func(p *person) { p.ownSession(h) })
		}
		for j := range max(0, w.woods.IntN(5)-2) {
			w.employ(fmt.Sprintf("forester on %s/%d", h.name, j), func(p *person) { p.forest(h) })
		}
		w.employ("accidents on "+h.name, func(p *person) { p.accidents(h) })
		w.employEndless("somebody on "+h.name, func(p *person) { p.look(h) })
		if w.plan.on["operator acts"] {
			w.employEndless("somebody at a seat of "+h.name, func(p *person) { p.sit(h) })
		}
	}
	if w.plan.on["retries at once"] || w.plan.on["starts held"] {
		w.employEndless("somebody in a hurry", func(p *person) { p.hurry() })
	}
	w.employEndless("caretaker", func(p *person) { p.caretake() })
}

// person is somebody who acts, or chance.
type person struct {
	w     *world
	name  string
	texts int // how many texts newText has made

	// tells says that the person tells a story: what they wait for must come. Other people live with what does not.
	tells bool
}

// employ starts a person whose work must end before the run ends.
func (w *world) employ(name string, do func(p *person)) {
	w.busy++
	w.employEndless(name, func(p *person) {
		do(p)
		p.wait("is done", 0, 0)
		w.busy--
	})
}

// employEndless starts a person who acts until the run ends.
func (w *world) employEndless(name string, do func(p *person)) {
	p := &person{w: w, name: name}
	go func() {
		p.wait("comes", 0, time.Millisecond)
		do(p)
	}()
}

// wait lets time pass.
func (p *person) wait(what string, lo, hi time.Duration) {
	p.w.park(&call{own: p.w.self, who: p.name, what: what, slow: func() time.Duration { return between(p.w.rng, lo, hi) }})
}

// faulty reports whether something may still go wrong.
func (p *person) faulty() bool { return time.Now().Before(p.w.plan.until) }

// ask sends a request to a host's daemon until one answers. A refusal is an answer.
func (p *person) ask(h *host, what string, do func(ctx context.Context, d *house.House) error) error {
	for {
		if g := h.daemon; g != nil && g.listening {
			answered, err := g.call(p.name, 20*time.Second, do)
			p.wait("reads the answer", 0, 0)
			var told *daemon.Error
			switch {
			case answered && err == nil:
				p.w.trace.note(p.name, "%s: done", what)
				return nil
			case answered && errors.As(err, &told) && told.Kind != daemon.KindUnavailable:
				p.w.trace.note(p.name, "%s: refused: %s", what, told.Message)
				return err
			}
			p.w.trace.note(p.name, "%s: no answer (%v)", what, err)
		}
		p.wait("tries again", 200*time.Millisecond, 2*time.Second)
	}
}

// anyHost draws a host: each daemon commands all agents.
func (p *person) anyHost() *host { return p.w.hosts[p.w.rng.IntN(len(p.w.hosts))] }

// operate starts an agent, gives it work and hands it over, for some generations.
func (p *person) operate(h *host, persona string) {
	w := p.w
	var id int64
	in := agents.NewAgent{Persona: persona, Runtime: w.drawRuntime()}
	if w.rng.IntN(2) == 0 {
		in.Prompt = p.newText()
	}
	p.wait("begins", 0, time.Second)
	for id == 0 {
		var err error
		if id, err = startWith(p, h, in); err != nil {
			return
		}
	}
	for range 1 + w.rng.IntN(3) {
		p.await("its registration", 2*time.Minute, func() bool {
			a, err := w.lent.Agent(ctx(), id)
			return err != nil || a.RegisteredAt != nil || !a.Active()
		})
		for range w.rng.IntN(3) {
			p.send(id)
			p.wait("waits", 0, 10*time.Second)
		}
		next := p.handOver(id)
		if next == 0 {
			return
		}
		id = next
	}
}

// newText returns a text that nobody has used before.
func (p *person) newText() string {
	p.texts++
	return fmt.Sprintf("Task %d of %s: look at the sheds", p.texts, p.name)
}

// await waits until so is true, and reports whether it was true in time. In a story it must be.
func (p *person) await(what string, within time.Duration, so func() bool) bool {
	for until := time.Now().Add(within); ; {
		if so() {
			return true
		}
		if time.Now().After(until) {
			if p.tells {
				p.w.fail("%s did not come within %s", what, within)
			}
			return false
		}
		p.wait("awaits "+what, 500*time.Millisecond, time.Second)
	}
}

func (p *person) send(id int64) {
	text := p.newText()
	_, _ = say(p, p.anyHost(), id, text, false)
}

// handOver requests a handoff, waits for its end and returns the successor, 0 for none.
func (p *person) handOver(id int64) int64 {
	w := p.w
	in := handoffs.HandoffRequest{Force: true}
	if w.rng.IntN(4) == 0 {
		in.Mode = daemon.ModeGenerate
	}
	in.DropMessages = w.rng.IntN(8) == 0
	p.choose(&in)
	if inPlace := w.rng.IntN(2) == 0; !in.Keep && len(in.Heirs) < 2 {
		in.InPlace = &inPlace
	}
	if handOff(p, p.anyHost(), id, in) != nil && !p.hasHandoff(id) {
		return 0
	}
	if w.plan.on["operator acts"] && w.rng.IntN(3) == 0 {
		p.wait("changes its mind", 0, 20*time.Second)
		_ = cancel(p, p.anyHost(), id)
	}
	p.writeMeanwhile(id)
	var next int64
	p.await("the handoff", 5*time.Minute, func() bool {
		for _, h := range p.handoffs(id) {
			if h.Phase == daemon.Completed {
				next = *h.SuccessorID
				return true
			}
			if h.Phase == daemon.Cancelled {
				return true
			}
		}
		return false
	})
	return next
}

func (p *person) handoffs(id int64) []daemon.Handoff {
	return must(p.w.lent.Handoffs(ctx(), daemon.HandoffFilter{AgentID: id, Limit: 100}))
}

func (p *person) hasHandoff(id int64) bool { return len(p.handoffs(id)) > 0 }

// look watches a host's panes: the person answers dialogs, types and interrupts.
func (p *person) look(h *host) {
	for {
		p.wait("looks", time.Second, 8*time.Second)
		if time.Now().Before(h.asleep) {
			continue
		}
		for _, a := range h.w.agentsOf(h) {
			plan := h.w.plan
			switch {
			case a.dialog != nil && !a.dialog.exit && p.w.rng.IntN(2) == 0 && p.answerPermission(a):
			case a.dialog != nil && !a.dialog.exit:
				p.w.trace.note(p.name, "answers the dialog of agent %d", a.id)
				a.person("", tmux.Enter)
			case !p.faulty() && a.draftBlocks() && a.stop == nil:
				p.w.trace.note(p.name, "deletes the draft of agent %d", a.id)
				a.person("", tmux.CtrlU)
			case plan.has("person prompts") && p.w.rng.IntN(4) == 0 && (a.ready || a.held) && a.cli.rt.Can.QuietAfter == 0: // else nobody notices the turn
				text := p.newText()
				plan.count("person prompts")
				p.w.trace.note(p.name, "prompts agent %d: %s", a.id, text)
				a.person(text, tmux.Enter)
			case plan.has("person types") && p.w.rng.IntN(4) == 0 && a.ready:
				plan.count("person types")
				a.person("half a thought ")
			case plan.has("person interrupts") && p.w.rng.IntN(6) == 0 && a.stop != nil:
				plan.count("person interrupts")
				p.w.trace.note(p.name, "interrupts agent %d", a.id)
				a.person("", tmux.Escape)
			}
		}
	}
}

// accidents lets accidents happen to the host.
func (p *person) accidents(h *host) {
	plan, rng := p.w.plan, p.w.rng
	for p.faulty() {
		p.wait("nothing happens", time.Second, 25*time.Second)
		if !p.faulty() {
			break
		}
		agents := h.w.agentsOf(h)
		var can []string
		for _, c := range []string{"agents die", "tmux dies", "daemon frozen", "daemon stopped", "machine sleeps", "clock steps", "store away"} {
			if plan.on[c] {
				can = append(can, c)
			}
		}
		if len(can) == 0 {
			continue
		}
		what := can[rng.IntN(len(can))]
		switch {
		case what == "agents die" && len(agents) > 0:
			a := agents[rng.IntN(len(agents))]
			a.signal([]syscall.Signal{syscall.SIGKILL, syscall.SIGTERM}[rng.IntN(2)])
		case what == "tmux dies" && rng.IntN(3) == 0:
			h.term.die()
		case what == "daemon frozen" && h.daemon != nil:
			h.daemon.frozen = laterOf(h.daemon.frozen, time.Now().Add(between(rng, time.Second, time.Minute)))
			p.w.calm = laterOf(p.w.calm, h.daemon.frozen)
			h.noteAbsence(h.daemon.frozen)
		case what == "daemon stopped" && h.daemon != nil:
			h.daemon.cancel(errStopped)
		case what == "machine sleeps" && rng.IntN(3) == 0:
			h.asleep = laterOf(h.asleep, time.Now().Add(between(rng, 10*time.Second, time.Hour)))
			p.w.calm = laterOf(p.w.calm, h.asleep)
			h.noteAbsence(h.asleep)
		case what == "clock steps":
			h.stepClock(rng)
		case what == "store away":
			plan.away[h] = laterOf(plan.away[h], time.Now().Add(between(rng, time.Second, 40*time.Second)))
			p.w.calm = laterOf(p.w.calm, plan.away[h])
			h.noteAbsence(plan.away[h])
		default:
			continue
		}
		plan.count(what)
		p.w.trace.note(p.name, "%s", what)
	}
}

func laterOf(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// caretake does what failed rows ask a person for: it retries and stops, only a few times each.
func (p *person) caretake() {
	w := p.w
	tries, pipelines := map[int64]int{}, map[int64]int{}
	for {
		p.wait("looks after things", 5*time.Second, 15*time.Second)
		p.seeToPipelines(pipelines)
		agents, handoffs := w.rows()
		for h := range each(handoffs) {
			switch {
			case h.Retryable() && h.Open() && tries[h.ID] < 3:
				_ = p.retry(h)
			case h.Open() && h.Phase == daemon.ShuttingDown && (h.Retryable() || !p.faulty() && strings.Contains(h.Note, "understudy agent stop")):
				_ = stop(p, p.hostNamed(h.Host), h.AgentID, tries[h.ID] > 5)
			case h.Retryable() && tries[h.ID] < 2 && w.plan.on["operator acts"]:
				if w.rng.IntN(3) == 0 {
					_, _ = resumeAgent(p, p.hostNamed(h.Host), h.AgentID)
				}
				_ = p.retry(h)
			default:
				continue
			}
			tries[h.ID]++
		}
		for i := range agents {
			if a := &agents[i]; !p.faulty() && a.Active() && a.RegisteredAt == nil && a.Note != "" && a.StopAskedAt == nil {
				_ = stop(p, p.hostNamed(a.Host), a.ID, true)
			}
			if a := &agents[i]; a.Active() && a.StopStage == daemon.StopFailed {
				if q := w.process(a.ID); q != nil {
					q.signal(syscall.SIGKILL)
				}
			}
		}
	}
}

func (p *person) retry(h *daemon.Handoff) error {
	return p.ask(p.hostNamed(h.Host), fmt.Sprintf("retry handoff %d", h.ID), func(ctx context.Context, d *house.House) error {
		return errorOf(d.Daemon.RetryHandoff(ctx, h.ID, handoffs.Retry{Force: p.w.rng.IntN(2) == 0}))
	})
}

// hostNamed returns the host of a name, or the first one.
func (p *person) hostNamed(name string) *host {
	for _, h := range p.w.hosts {
		if h.name == name {
			return h
		}
	}
	return p.w.hosts[0]
}
