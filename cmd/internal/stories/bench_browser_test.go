//go:build e2e

package stories

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/understudyd/understudy/api"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

// shows begins to wait until an element of the page shows a text. It notes when it does, in ms since 1970.
const shows = `((id, text) => {
	window.shown = new Promise(done => {
		const observer = new MutationObserver(() => {
			if (!document.getElementById(id)?.textContent.includes(text)) return;
			observer.disconnect();
			done(performance.timeOrigin + performance.now());
		});
		observer.observe(document.getElementById('main'), { subtree: true, childList: true, characterData: true });
	});
	return true;
})`

// BenchmarkDashboardUpdate measures how long the first page, with fifty agents, takes to show a change: from the
// commit to the text in the page. It does so with one tab, and with twelve visible tabs, of which the slowest counts.
// "At rest" the page is idle when the change comes; "in a row" each change comes as soon as the page shows the
// previous one.
func BenchmarkDashboardUpdate(b *testing.B) {
	for _, tabs := range []int{1, 12} {
		for name, every := range map[string]time.Duration{"at-rest": 300 * time.Millisecond, "in-a-row": 0} {
			b.Run(fmt.Sprintf("tabs=%d/%s", tabs, name), func(b *testing.B) { benchUpdates(b, tabs, every) })
		}
	}
}

func benchUpdates(b *testing.B, tabs int, every time.Duration) {
	r := newRig(b)
	first := openDashboard(r)
	commitAgents(r, 0, 50, "")
	agents := wardentest.Value(r.client.Agents(b.Context(), api.ListOptions{Limit: 50}))(b)
	id := agents[20].ID
	open := []*tab{first}
	for len(open) < tabs {
		open = append(open, first.openTab("/"))
	}
	var took []time.Duration
	n := 0
	for b.Loop() {
		if every > 0 {
			pause := time.NewTimer(every)
			<-pause.C
		}
		n++
		text := fmt.Sprintf("update %d is here", n)
		for _, p := range open {
			eval[bool](p, fmt.Sprintf("%s('agent-%d', %q)", shows, id, text))
		}
		at := commitLastMessage(r, id, text)
		var slowest time.Duration
		for _, p := range open {
			shown := time.UnixMicro(int64(1000 * eval[float64](p, "window.shown")))
			slowest = max(slowest, shown.Sub(at))
		}
		took = append(took, slowest)
	}
	quantiles(b, "update", took)
}

// commitLastMessage gives an agent another last message and returns the time of the commit.
func commitLastMessage(r *rig, agentID int64, text string) time.Time {
	r.t.Helper()
	a := agentRow(r, agentID)
	a.LastMessage = text
	store := r.database()
	if err := store.Commit(r.t.Context(), &daemon.Change{Agents: []*daemon.Agent{&a}, Events: []*event.Event{
		{Type: "agent_idle", Host: a.Host, AgentID: &agentID, Payload: json.RawMessage(`{}`)}}}); err != nil {
		r.t.Fatal(err)
	}
	return time.Now()
}

// BenchmarkDashboardLoad measures how the first page with two hundred agents loads in a browser with an empty cache: until
// its load event has ended, and until it follows the feed.
func BenchmarkDashboardLoad(b *testing.B) {
	r := newRig(b)
	p := openDashboard(r)
	commitAgents(r, 0, 200, "")
	var loaded, live []time.Duration
	var bytes float64
	for b.Loop() {
		began := time.Now()
		bytes = max(bytes, p.firstLoad())
		live = append(live, time.Since(began))
		end := eval[float64](p, "performance.getEntriesByType('navigation')[0].loadEventEnd")
		loaded = append(loaded, time.Duration(end*float64(time.Millisecond)))
	}
	quantiles(b, "load", loaded)
	quantiles(b, "live", live)
	b.ReportMetric(bytes, "bytes")
}

// mostOfAKey is how long half of the keys may take at most, on a machine that does nothing else.
const mostOfAKey = 150 * time.Millisecond

// BenchmarkKey measures how long a key that is pressed in a browser takes until the pane's screen shows it there.
func BenchmarkKey(b *testing.B) {
	r := newRig(b)
	p := openDashboard(r)
	p.visit(fmt.Sprintf("/ui/agents/%d", r.startAgent(con).ID))
	p.awaitText("#screen", "❯")
	p.click("#keys [role=switch]")
	p.awaitText(".keyed", "keys from the browser")
	var took []time.Duration
	text := ""
	for b.Loop() {
		for _, c := range "saying;$HOME" {
			text += string(c)
			took = append(took, p.typeSeen(string(c), text))
		}
	}
	quantiles(b, "key", took)
	if m := median(took); m > mostOfAKey {
		b.Errorf("half of the keys are seen after %s: %v", m, took)
	}
}

// typeSeen types a key and returns how long it took until the screen showed the composer's text with it.
func (p *tab) typeSeen(key, text string) time.Duration {
	p.r.t.Helper()
	eval[any](p, fmt.Sprintf(`(() => { window.shownAt = 0; let begun = 0; const pre = document.getElementById('screen');
		const seen = new MutationObserver(() => {
			if (!begun || !pre.textContent.replaceAll('\u00a0', ' ').includes('❯ ' + %q)) return;
			window.shownAt = performance.now() - begun;
			seen.disconnect();
		});
		seen.observe(pre, {childList: true, subtree: true, characterData: true});
		pre.addEventListener('keydown', () => { begun = performance.now(); }, {once: true, capture: true}); })()`, text))
	p.typeInto("#screen", key)
	p.r.await("the text on the screen: "+text, func() (bool, string) { return eval[float64](p, "window.shownAt") > 0, p.html() })
	return time.Duration(eval[float64](p, "window.shownAt") * float64(time.Millisecond))
}
