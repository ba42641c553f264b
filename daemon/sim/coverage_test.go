package sim

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/runtimes/catalog"
)

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
