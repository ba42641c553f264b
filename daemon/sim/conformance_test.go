package sim

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/runtimes/catalog"
	"github.com/understudyd/understudy/tmux"
)

// TestConformance: every runtime meets in one world each row of conformance that its Can promises. The seeds meet the rows
// with faults and by chance; TestSeeds prints how often.
func TestConformance(t *testing.T) {
	for _, name := range cliNames {
		storyAs(t, name, func(t *testing.T, p *person, h *host) {
			p.meetRows(h, name)
			agents, _ := p.w.rows()
			p.w.coverStored(agents, log(p.w))
			for _, c := range conformance {
				if c.promised != nil && !c.promised(&clis[name].rt.Can) {
					continue
				}
				if p.w.covered[cell{name, c.row}] == 0 {
					t.Errorf("%s does not meet %q", name, c.row)
				}
			}
		})
	}
}

// meetRows has agents of a runtime meet the rows, one after the other.
func (p *person) meetRows(h *host, name string) {
	a := agentOn(p, h, name)
	a.mood.think = 5 * time.Second
	rest := func() {
		p.await("rest", 2*time.Minute, func() bool { row := p.row(a); return row.AtRest() && !a.busy() && a.dialog == nil })
	}
	give := func(text string) {
		message(p, h, a, text)
		p.await("the text "+text, 2*time.Minute, func() bool { return a.was(text) })
	}
	give("while idle")
	rest()
	a.extra = func(ctx context.Context) bool { return !a.doIn(ctx, "works long", 10*time.Second, 11*time.Second) }
	message(p, h, a, "a long turn")
	p.poll("the turn", func() bool { return a.stop != nil })
	give("while busy")
	rest()

	a.extra = a.permission
	message(p, h, a, "that asks")
	p.poll("the dialog", func() bool { return a.dialog != nil })
	message(p, h, a, "behind the dialog")
	p.wait("reads the dialog", 12*time.Second, 12*time.Second)
	a.person("", tmux.Enter)
	p.await("the text behind the dialog", 2*time.Minute, func() bool { return a.was("behind the dialog") })
	rest()

	a.person("half a thought ")
	p.poll("the draft", func() bool { return a.composer.Text != "" })
	message(p, h, a, "beside the draft")
	p.wait("looks away", 5*time.Second, 5*time.Second)
	if a.draftBlocks() {
		a.person("", tmux.CtrlU)
	}
	p.await("the text beside the draft", 2*time.Minute, func() bool { return a.was("beside the draft") })
	rest()

	a.extra = func(ctx context.Context) bool { return !a.doIn(ctx, "works long", time.Hour, time.Hour) }
	give("to be interrupted")
	p.wait("reads", 3*time.Second, 3*time.Second)
	a.person("", tmux.Escape)
	p.poll("the end of the turn", func() bool { return a.stop == nil })
	a.extra = nil // the turn may have been interrupted before it
	rest()
	give("after the interrupt")
	rest()

	a.failing = true
	give("that fails")
	rest()
	a.failing = false
	give("after the failure")
	rest()
	p.meetEnds(h, a)
}

// meetEnds has an agent hit a limit, be copied, exit, be opened again, and be killed.
func (p *person) meetEnds(h *host, a *agent) {
	name, can := a.cli.rt.Name, &a.cli.rt.Can
	if can.QuietAfter == 0 {
		hits(a, time.Minute)
		message(p, h, a, "that hits a limit")
		p.await("the limit", 2*time.Minute, func() bool { return p.row(a).State == daemon.Limited })
		a.limits = nil
		message(p, h, a, "after the limit")
		p.await("the end of the limit", 2*time.Minute, func() bool { return p.row(a).State == daemon.Idle && p.row(a).Limit == nil })
	}
	if can.Copies() {
		p.requestHandoff(h, a, daemon.ModeGenerate)
		done := p.reach(a, daemon.Completed)
		if a = p.w.process(*done.SuccessorID); a == nil {
			return
		}
	}
	p.stop(h, a.id, false)
	p.await("its end", 2*time.Minute, func() bool { return a.dead })
	var next *agent
	if can.QuietAfter == 0 {
		p.await("its row", time.Minute, func() bool { row := p.row(a); return !row.Active() })
		next = awaitIdle(p, p.reopen(h, a.id).ID)
	} else {
		next = agentOn(p, h, name)
	}
	if next == nil {
		p.w.fail("%s was not opened again", name)
		return
	}
	next.signal(syscall.SIGKILL)
	p.await("the end of the killed agent", time.Minute, func() bool { row := p.row(next); return !row.Active() })
}

// was reports whether the agent's model was given a text.
func (a *agent) was(text string) bool {
	for _, given := range a.given {
		if given == text || len(given) > len(text) && given[len(given)-len(text):] == text {
			return true
		}
	}
	return false
}

// conformance are the things that every runtime is asked for, and which runtimes promise them; nil: all do.
var conformance = []struct {
	row      string
	promised func(can *runtimes.Can) bool
}{
	{"launch", nil}, {"text while idle", nil}, {"text while busy", nil}, {"text beside a draft", nil}, {"text behind a dialog", nil},
	{"end of a turn", nil}, {"text after an interrupt", nil},
	{"error of the API", func(can *runtimes.Can) bool { return can.QuietAfter == 0 }},
	{"usage limit", func(can *runtimes.Can) bool { return can.QuietAfter == 0 }},
	{"document of a copy", (*runtimes.Can).Copies},
	{"resume", func(can *runtimes.Can) bool { return can.QuietAfter == 0 }},
	{"exit", nil}, {"kill", nil},
}

// cell is a row of conformance on one runtime.
type cell struct{ runtime, row string }

// cover notes that a runtime has met a row of conformance.
func (w *world) cover(runtime, row string) {
	if rt, err := catalog.For(runtime); err == nil {
		runtime = rt.Name // the runtime may be named with an account
	}
	w.covered[cell{runtime, row}]++
}

// noteQueued notes in which state an agent was when a text was queued for it.
func (w *world) noteQueued(c *daemon.Change) {
	for _, d := range c.NewDeliveries {
		a := w.process(d.AgentID)
		if a == nil {
			continue
		}
		switch {
		case a.dialog != nil:
			a.queuedAs[d.ID] = "text behind a dialog"
		case a.composer.Text != "":
			a.queuedAs[d.ID] = "text beside a draft"
		case a.stop != nil:
			a.queuedAs[d.ID] = "text while busy"
		default:
			a.queuedAs[d.ID] = "text while idle"
		}
	}
}

// coverTaken notes that the model was given a delivery's text.
func (w *world) coverTaken(a *agent, id int64) {
	if row := a.queuedAs[id]; row != "" {
		w.cover(a.cli.rt.Name, row)
	}
	if a.cut {
		a.cut = false
		w.cover(a.cli.rt.Name, "text after an interrupt")
	}
}

// coverStored notes what the stored rows show at the end.
func (w *world) coverStored(agents []daemon.Agent, events []event.Event) {
	of := map[int64]string{}
	for a := range each(agents) {
		of[a.ID] = a.Runtime
		if a.LastStop > 0 {
			w.cover(a.Runtime, "end of a turn")
		}
		if a.Resume != "" && a.RegisteredAt != nil {
			w.cover(a.Runtime, "resume")
		}
	}
	for e := range each(events) {
		switch {
		case e.AgentID == nil:
		case e.Type == event.AgentTrouble:
			w.cover(of[*e.AgentID], "error of the API")
		case e.Type == event.AgentLimited:
			w.cover(of[*e.AgentID], "usage limit")
		}
	}
}

// table returns how often each runtime has met each row, in brackets where it does not promise that.
func table(covered map[cell]int) string {
	var b strings.Builder
	tab := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintf(tab, "\t%s\n", strings.Join(cliNames, "\t"))
	for _, c := range conformance {
		fmt.Fprint(tab, c.row)
		for _, name := range cliNames {
			n, promised := covered[cell{name, c.row}], c.promised == nil || c.promised(&clis[name].rt.Can)
			if promised {
				fmt.Fprintf(tab, "\t%d", n)
			} else {
				fmt.Fprintf(tab, "\t(%d)", n)
			}
		}
		fmt.Fprintln(tab)
	}
	_ = tab.Flush() // a strings.Builder takes everything
	return b.String()
}
