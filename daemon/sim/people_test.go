package sim

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/tmux"
)

// people have the operator and chance do what they do. Each works in a goroutine of its own and does nothing but
// when the schedule lets it.
func (w *world) people() {
	for i, h := range w.hosts {
		n := 1 + w.rng.IntN(2)
		for j := range n {
			w.begin(fmt.Sprintf("operator of %s/%d", h.name, j), func(p *person) { p.operate(h, personaSlugs[(i+j)%len(personaSlugs)]) })
		}
		if w.rng.IntN(3) == 0 {
			w.begin("director of "+h.name, func(p *person) { p.direct(h) })
		}
		if w.rng.IntN(4) == 0 {
			w.begin("worker on "+h.name, func(p *person) { p.work(h) })
		}
		w.begin("accidents on "+h.name, func(p *person) { p.accidents(h) })
		w.aside("somebody on "+h.name, func(p *person) { p.look(h) })
	}
	w.aside("caretaker", func(p *person) { p.caretake() })
}

// person is somebody, or chance.
type person struct {
	w    *world
	name string
	said int
}

// begin has somebody work whose work must end before the run does.
func (w *world) begin(name string, do func(p *person)) {
	w.busy++
	w.aside(name, func(p *person) {
		do(p)
		p.wait("is done", 0, 0)
		w.busy--
	})
}

// aside has somebody be there to the end.
func (w *world) aside(name string, do func(p *person)) {
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

// faulty reports whether things may still go wrong.
func (p *person) faulty() bool { return time.Now().Before(p.w.plan.until) }

// ask has a daemon do something, as often as it takes until one answers. What is refused is an answer.
func (p *person) ask(h *host, what string, do func(ctx context.Context, d *daemon.Daemon) error) error {
	for {
		if g := h.gen; g != nil && g.listening {
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

// somewhere is any host: each commands all agents.
func (p *person) somewhere() *host { return p.w.hosts[p.w.rng.IntN(len(p.w.hosts))] }

// operate starts an agent, gives it work and hands it over, some generations long.
func (p *person) operate(h *host, persona string) {
	w := p.w
	var id int64
	in := daemon.NewAgent{Persona: persona, Cwd: h.cwd, Runtime: "claude"}
	if w.rng.IntN(2) == 0 {
		in.Prompt = p.words()
	}
	p.wait("begins", 0, time.Second)
	for id == 0 {
		err := p.ask(h, "start an agent", func(ctx context.Context, d *daemon.Daemon) error {
			a, err := d.CreateAgent(ctx, in)
			id = a.ID
			return err
		})
		if err != nil {
			return
		}
	}
	for range 1 + w.rng.IntN(3) {
		p.await("its registration", 2*time.Minute, func() bool {
			a, err := w.lent.Agent(context.Background(), id)
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

// words are a text that was never said before.
func (p *person) words() string {
	p.said++
	return fmt.Sprintf("Task %d of %s: look at the sheds", p.said, p.name)
}

// await looks now and then until something is so, or for so long.
func (p *person) await(what string, within time.Duration, so func() bool) bool {
	for until := time.Now().Add(within); ; {
		if so() {
			return true
		}
		if time.Now().After(until) {
			return false
		}
		p.wait("awaits "+what, 500*time.Millisecond, time.Second)
	}
}

func (p *person) send(id int64) {
	text := p.words()
	_ = p.ask(p.somewhere(), "send "+text, func(ctx context.Context, d *daemon.Daemon) error {
		_, err := d.SendMessage(ctx, id, text, false)
		return err
	})
}

// handOver asks for a handoff and returns the successor, 0 for none.
func (p *person) handOver(id int64) int64 {
	w := p.w
	in := daemon.HandoffRequest{Force: true}
	if w.rng.IntN(4) == 0 {
		in.Mode = daemon.ModeGenerate
	}
	if p.ask(p.somewhere(), fmt.Sprintf("hand over agent %d %s", id, in.Mode), func(ctx context.Context, d *daemon.Daemon) error {
		_, err := d.RequestHandoff(ctx, id, in)
		return err
	}) != nil && !p.hasHandoff(id) {
		return 0
	}
	if w.plan.on["operator acts"] && w.rng.IntN(3) == 0 {
		p.wait("changes its mind", 0, 20*time.Second)
		_ = p.ask(p.somewhere(), fmt.Sprintf("cancel the handoff of agent %d", id), func(ctx context.Context, d *daemon.Daemon) error {
			_, err := d.CancelHandoff(ctx, id, 0)
			return err
		})
	}
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
	list, err := p.w.lent.Handoffs(context.Background(), daemon.HandoffFilter{AgentID: id, Limit: 100})
	if err != nil {
		p.w.fail("%v", err)
	}
	return list
}

func (p *person) hasHandoff(id int64) bool { return len(p.handoffs(id)) > 0 }

// look is somebody at the panes: answers dialogs, types, interrupts.
func (p *person) look(h *host) {
	for {
		p.wait("looks", time.Second, 8*time.Second)
		if time.Now().Before(h.asleep) {
			continue
		}
		for _, a := range h.w.agentsOf(h) {
			plan := h.w.plan
			switch {
			case a.dialog != nil && !a.dialog.exit:
				p.w.trace.note(p.name, "answers the dialog of agent %d", a.id)
				a.person("", tmux.Enter)
			case !p.faulty() && a.composer.Stashed() && a.composer.Text != "" && a.stop == nil:
				p.w.trace.note(p.name, "deletes the draft of agent %d", a.id)
				a.person("", tmux.CtrlU)
			case plan.has("person prompts") && p.w.rng.IntN(4) == 0 && a.ready:
				text := p.words()
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

// accidents happen to the machine.
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
		case what == "daemon frozen" && h.gen != nil:
			h.gen.frozen = laterOf(h.gen.frozen, time.Now().Add(between(rng, time.Second, time.Minute)))
			p.w.calm = laterOf(p.w.calm, h.gen.frozen)
			h.nobody(h.gen.frozen)
		case what == "daemon stopped" && h.gen != nil:
			h.gen.cancel(errStopped)
		case what == "machine sleeps" && rng.IntN(3) == 0:
			h.asleep = laterOf(h.asleep, time.Now().Add(between(rng, 10*time.Second, time.Hour)))
			p.w.calm = laterOf(p.w.calm, h.asleep)
			h.nobody(h.asleep)
		case what == "clock steps":
			h.step(rng)
		case what == "store away":
			plan.away[h] = laterOf(plan.away[h], time.Now().Add(between(rng, time.Second, 40*time.Second)))
			p.w.calm = laterOf(p.w.calm, plan.away[h])
			h.nobody(plan.away[h])
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

// caretake does what failures ask for: it tries again, a few times while things go wrong, and always afterwards.
func (p *person) caretake() {
	w := p.w
	tries, runs := map[int64]int{}, map[int64]int{}
	for {
		p.wait("looks after things", 5*time.Second, 15*time.Second)
		p.seeToRuns(runs)
		agents, handoffs := w.rows()
		for i := range handoffs {
			h := &handoffs[i]
			switch {
			case h.Retryable() && h.Open() && tries[h.ID] < 3:
				_ = p.retry(h)
			case h.Open() && h.Phase == daemon.ShuttingDown && (h.Retryable() || !p.faulty() && strings.Contains(h.Note, "understudy agent stop")):
				_ = p.ask(p.home(h.Host), fmt.Sprintf("stop agent %d", h.AgentID), func(ctx context.Context, d *daemon.Daemon) error {
					_, err := d.StopAgent(ctx, h.AgentID, tries[h.ID] > 5)
					return err
				})
			case h.Retryable() && tries[h.ID] < 2 && w.plan.on["operator acts"]:
				if w.rng.IntN(3) == 0 {
					_ = p.ask(p.home(h.Host), fmt.Sprintf("resume agent %d", h.AgentID), func(ctx context.Context, d *daemon.Daemon) error {
						_, err := d.ResumeAgent(ctx, h.AgentID)
						return err
					})
				}
				_ = p.retry(h)
			default:
				continue
			}
			tries[h.ID]++
		}
		for i := range agents {
			if a := &agents[i]; !p.faulty() && a.Active() && a.RegisteredAt == nil && a.Note != "" && a.StopAskedAt == nil {
				_ = p.ask(p.home(a.Host), fmt.Sprintf("stop agent %d, which never registered", a.ID), func(ctx context.Context, d *daemon.Daemon) error {
					_, err := d.StopAgent(ctx, a.ID, true)
					return err
				})
			}
			if a := &agents[i]; a.Active() && a.StopStage == daemon.StopFailed {
				if q := w.of(a.ID); q != nil {
					q.signal(syscall.SIGKILL)
				}
			}
		}
	}
}

func (p *person) retry(h *daemon.Handoff) error {
	return p.ask(p.home(h.Host), fmt.Sprintf("retry handoff %d", h.ID), func(ctx context.Context, d *daemon.Daemon) error {
		_, err := d.RetryHandoff(ctx, h.ID, "")
		return err
	})
}

// home is the host of a name.
func (p *person) home(name string) *host {
	for _, h := range p.w.hosts {
		if h.name == name {
			return h
		}
	}
	return p.w.hosts[0]
}
