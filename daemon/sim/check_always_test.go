package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/tmux"
	"github.com/understudyd/understudy/tmux/tmuxtest"
)

// checks is what the rules about agents, handoffs and deliveries remember. They must hold at every moment, whatever goes
// wrong.
type checks struct {
	moves     map[int64]int          // how many transitions of each handoff were checked
	last      map[int64]daemon.Phase // where the last checked transition of each handoff led
	permitted map[int64]string       // by permission, what its hook was told
	takes     map[string]int         // how often a model was given a delivery's text
	entered   map[int64]moment       // when each handoff entered its phase
	typed     map[int64]moment       // when each delivery was typed, or given as an answer
	late      map[int64]bool         // agents of which a hook came after their end
	behind    map[int64]bool         // agents that were made after the end of their predecessors
	hookOf    map[int64]int64        // the agent of each hook
	followed  map[int64]followed     // by agent, where the registry told last that its session works
	briefed   map[heirSlot]int64     // the agent that each heir was when it was briefed
}

func newChecks() checks {
	return checks{moves: map[int64]int{}, last: map[int64]daemon.Phase{}, permitted: map[int64]string{}, takes: map[string]int{}, entered: map[int64]moment{}, typed: map[int64]moment{}, briefed: map[heirSlot]int64{}, late: map[int64]bool{}, behind: map[int64]bool{}, hookOf: map[int64]int64{}, followed: map[int64]followed{}}
}

// afterCommit checks the rows after a transaction of g, before the schedule lets anybody else go on. It also notifies
// the other hosts, as the database does.
func afterCommit(w *world, g *daemonRun) {
	for _, h := range w.hosts {
		if other := h.daemon; other != nil && other != g && other.listening {
			engine.Sweep(other.d.Engine)
			other.d.EventsChanged()
		}
	}
	agents, handoffs := w.rows()
	w.noteOwnSessions(agents)
	checkPipelines(w, agents, handoffs)
	checkHeirs(w, agents, handoffs)
	w.checkDialogAnswers(agents, false)
	open, sessions := map[int64]int64{}, map[string]int64{}
	for h := range each(handoffs) {
		checkHandoff(w, h)
		if h.Open() {
			if other := open[h.AgentID]; other != 0 {
				w.fail("agent %d has two open handoffs: %d and %d", h.AgentID, other, h.ID)
			}
			open[h.AgentID] = h.ID
		}
	}
	for a := range each(agents) {
		if !a.Active() {
			continue
		}
		if s := a.SessionID; s != nil {
			if other := sessions[*s]; other != 0 {
				w.fail("agents %d and %d have the same session", other, a.ID)
			}
			sessions[*s] = a.ID
		}
	}
}

// checkHandoff: a handoff moves as its table says, from the phase that it was in, and its row agrees with its
// transitions, its delivery and its record.
func checkHandoff(w *world, h *daemon.Handoff) {
	list := must(w.lent.Transitions(ctx(), h.ID))
	for _, t := range list[w.moves[h.ID]:] {
		from, known := w.last[h.ID]
		if !known {
			from = daemon.Requested
		}
		checkMove(w, 0, fmt.Sprintf("handoff %d", h.ID), string(from), string(t.To))
		if t.From != from {
			w.fail("handoff %d moved from %s, but was %s", h.ID, t.From, from)
		}
		if from == daemon.Completed || from == daemon.Cancelled {
			w.fail("handoff %d had ended as %s and moved to %s", h.ID, from, t.To)
		}
		w.last[h.ID] = t.To
		if a := w.process(h.AgentID); a != nil && a.writes == h.FilePath && t.From == daemon.Verifying && t.To == daemon.Instructing {
			if had := time.Since(w.entered[h.ID].seen); had < settings().Handoff.BusyTimeout-10*time.Second {
				w.fail("handoff %d asks agent %d for another document %s after a retry, while the agent is about to write it", h.ID, a.id, had)
			}
		}
		if a := w.process(h.AgentID); a != nil && t.To == daemon.Verifying && h.Mode == daemon.ModeTranscript {
			a.documentAt, a.unmentioned = time.Now(), nil // the document has the whole conversation
		}
		if a := w.process(h.AgentID); a != nil && t.From == daemon.Generating && t.To == daemon.Verifying && h.Mode == daemon.ModeGenerate {
			w.cover(a.cli.rt.Name, "document of a copy")
		}
		if t.To == daemon.Completed {
			checkPassed(w, h)
		}
		if t.To == daemon.Failed {
			w.checkTime(h)
			checkCode(w, h)
		}
		w.entered[h.ID] = moment{t.At, time.Now()}
	}
	w.moves[h.ID] = len(list)
	if last, known := w.last[h.ID]; known && last != h.Phase {
		w.fail("handoff %d is %s, its transitions end with %s", h.ID, h.Phase, last)
	}
	if h.DeliveryID != nil && (h.Phase == daemon.Instructing || h.Phase == daemon.AwaitingDocument || h.Phase == daemon.Completed) {
		d, err := w.lent.Delivery(ctx(), *h.DeliveryID)
		taken := err == nil && d.Verdict != nil && *d.Verdict == daemon.Submitted
		if h.Phase != daemon.Instructing && !taken {
			w.fail("handoff %d is %s, but delivery %d was not confirmed: %s %v", h.ID, h.Phase, *h.DeliveryID, d.State, err)
		}
		if taken && !h.Confirmed && h.Phase != daemon.Completed {
			w.fail("handoff %d is %s, but is not marked as confirmed although its instruction was taken: a Stop right after would not count", h.ID, h.Phase)
		}
	}
	switch h.Phase {
	case daemon.BriefingHeirs, daemon.ShuttingDown, daemon.Spawning, daemon.AwaitingRegistration, daemon.InjectingSkill, daemon.Briefing, daemon.Completed:
		if h.RecordedAt == nil {
			w.fail("handoff %d is %s without a record", h.ID, h.Phase)
		} else if _, err := w.lent.Record(ctx(), h.ID); err != nil {
			w.fail("handoff %d is %s: %v", h.ID, h.Phase, err)
		}
	case daemon.Failed:
		if h.Error == nil || h.Error.Message == "" {
			w.fail("handoff %d failed without an error", h.ID)
		}
	}
}

func takeKey(agent int64, text string) string { return fmt.Sprint(agent, " ", text) }

// token returns the part of a delivery's text by which it is recognised: its nonce, or the whole text.
func token(d *daemon.Delivery) string {
	if d.Nonce != "" {
		return d.Nonce
	}
	return d.Text
}

// afterTake checks a prompt that a model was given: it is not given more often than it was sent, nor is a delivery that
// was judged as not submitted.
func afterTake(w *world, a *agent, prompt string, from origin) {
	w.trace.note(a.owner.name, "takes %q", prompt[:min(len(prompt), 70)])
	list := deliveries(w, a.id)
	checkStepPrompt(w, a, prompt)
	w.checkGoOn(a, prompt)
	ours := false
	counted := map[string]int{}
	var taken []*daemon.Delivery
	for d := range each(list) {
		if d.Kind == daemon.KindExit || !strings.Contains(prompt, token(d)) {
			continue // a person may type behind the exit command, which makes a prompt of it
		}
		checkHeld(w, a, d)
		if d.State != daemon.DeliveryQueued {
			taken = append(taken, d)
			counted[token(d)]++
		}
		w.coverTaken(a, d.ID)
		ours = ours || d.Kind == daemon.KindInstruction || d.Kind == daemon.KindPrompt || d.Kind == daemon.KindSkill
		if d.Verdict != nil && *d.Verdict == daemon.NotSubmitted && counted[token(d)] == 1 && !asked(w, list, token(d)) && !sentOn(d, prompt) {
			w.fail("agent %d takes delivery %d, whose verdict is not_submitted (%s)", a.id, d.ID, d.Evidence)
		}
		if d.Kind == daemon.KindPrompt {
			checkSkill(w, a)
		}
	}
	w.checkOnce(a, taken, prompt)
	for key, sent := range counted {
		w.takes[takeKey(a.id, key)]++
		if n := w.takes[takeKey(a.id, key)]; n > sent {
			w.fail("agent %d took a text %d times that was sent %d times: %.80q", a.id, n, sent, key)
		}
	}
	noticed := len(counted) > 0 || a.cli.rt.Can.QuietAfter == 0 // a turn that a person begins there shows nowhere
	if a.working = ""; !ours && from != notification && noticed {
		a.working = prompt
	}
	if a.working != "" && !a.documentAt.IsZero() {
		a.unmentioned = append(a.unmentioned, prompt)
	}
}

// sentOn reports whether a person submitted a delivery after the daemon had given it up: its text was still in the composer, or the runtime
// had put it back there because another hook refused it, and the person typed more behind it.
func sentOn(d *daemon.Delivery, prompt string) bool {
	left := strings.Contains(d.Evidence, "still stands in the composer") || strings.Contains(d.Evidence, "another hook refused the prompt")
	return left && len(strings.TrimSpace(prompt)) > len(strings.TrimSpace(d.Text))
}

// asked reports whether another delivery of the same text was typed, and was not judged as not submitted.
func asked(w *world, list []daemon.Delivery, text string) bool {
	return slices.ContainsFunc(list, func(d daemon.Delivery) bool {
		return token(&d) == text && d.State != daemon.DeliveryQueued && (d.Verdict == nil || *d.Verdict != daemon.NotSubmitted)
	})
}

// checkGiven: a delivery with the verdict submitted was given to its agent.
func checkGiven(w *world, d *daemon.Delivery) {
	if d.Verdict == nil || *d.Verdict != daemon.Submitted || d.Kind == daemon.KindExit {
		return
	}
	if !slices.ContainsFunc(w.agents, func(a *agent) bool {
		return a.id == d.AgentID && (slices.ContainsFunc(a.given, func(text string) bool { return strings.Contains(text, token(d)) }) || a.aboutToTake(d))
	}) {
		w.fail("delivery %d has the verdict submitted (%s), but nobody gave it to agent %d", d.ID, d.Evidence, d.AgentID)
	}
}

// aboutToTake reports whether an agent whose runtime tells nothing has yet to read the Enter for a text in its composer: the
// verdict comes with the key.
func (a *agent) aboutToTake(d *daemon.Delivery) bool {
	typed := slices.ContainsFunc(a.inputs, func(in tmuxtest.Input) bool { return in.Key == tmux.Enter })
	return a.cli.rt.Can.QuietAfter > 0 && typed && strings.Contains(a.composer.Text, token(d))
}

// checkSkill: an agent gets its skill before its injection prompt.
func checkSkill(w *world, a *agent) {
	row, err := w.lent.Agent(ctx(), a.id)
	if err != nil {
		w.fail("%v", err)
	} else if row.SkillInjectedAt == nil || !a.skilled {
		w.fail("agent %d got its injection prompt before its skill", a.id)
	}
}

// afterLaunch: no two processes are the same agent, and the only heir of a handoff starts after its predecessor has ended. It is called when a process has read its launch file.
func afterLaunch(w *world, a *agent) {
	w.trace.note(a.owner.name, "is agent %d", a.id)
	w.cover(a.cli.rt.Name, "launch")
	for _, b := range w.agents {
		if b != a && b.id == a.id && !b.dead {
			w.fail("agent %d has two processes", a.id)
		}
	}
	handoffs := w.handoffs()
	for h := range each(handoffs) {
		if h.SuccessorID != nil && *h.SuccessorID == a.id && !h.HeirsFirst() && w.process(h.AgentID) != nil {
			w.fail("agent %d is started by handoff %d while its predecessor %d lives", a.id, h.ID, h.AgentID)
		}
	}
}

// beforeExit checks the end of an agent to which somebody has submitted /exit.
func beforeExit(w *world, a *agent) { checkEnd(w, a, "was told to exit") }

// beforeKill checks the end of a process that a daemon is about to signal or kill.
func beforeKill(w *world, g *daemonRun, pid int, how string) {
	w.trace.note(g.name, "ends process %d: %s", pid-tmuxtest.AbovePID, how)
	for _, a := range w.agents {
		if a.h == g.h && a.proc.PID == pid && !a.dead {
			checkEnd(w, a, how)
		}
	}
}

// checkEnd: a daemon ends a process because somebody asked for it, or because the agent's handoff is recorded and the
// agent was given nothing since.
func checkEnd(w *world, a *agent, how string) {
	if a.id == 0 {
		return // the process has not read its launch file yet
	}
	row, err := w.lent.Agent(ctx(), a.id)
	if err != nil {
		w.fail("process of agent %d: %v", a.id, err)
		return
	}
	if row.EndedAt != nil || row.StopAskedAt == nil && how == "was told to exit" {
		return // only its pane is left; or the daemon has withdrawn /exit, and checks whether that came too late
	}
	if row.StopAskedAt == nil {
		w.fail("agent %d is ended (%s), but nobody asked for it", a.id, how)
		return
	}
	if !row.StopYields {
		return
	}
	handoffs := w.handoffs()
	i := slices.IndexFunc(handoffs, func(h daemon.Handoff) bool { return h.AgentID == a.id && h.Phase == daemon.ShuttingDown })
	switch {
	case i < 0 || handoffs[i].RecordedAt == nil:
		w.fail("agent %d is ended (%s) by a handoff that is not recorded", a.id, how)
	case handoffs[i].HeirsFirst() && slices.ContainsFunc(handoffs[i].Heirs, func(heir daemon.HandoffHeir) bool { return heir.Phase != daemon.Completed }):
		w.fail("agent %d is ended (%s) by handoff %d before all heirs are briefed", a.id, how, handoffs[i].ID)
	case a.tasks > 0 && awaited(w, &row) > 0:
		w.fail("agent %d is ended (%s) by handoff %d although %d tasks run in its background, as its last Stop has told", a.id, how, handoffs[i].ID, awaited(w, &row))
	case len(a.pending) > 0:
		w.fail("agent %d is ended (%s) by handoff %d although a prompt has not reached its model yet: %.60q", a.id, how, handoffs[i].ID, a.pending[0])
	case a.stop != nil && a.working != "" && a.retries == nil: // a turn that waits for the end of a limit is given up, as the policy says
		w.fail("agent %d is ended (%s) by handoff %d in the middle of its work: %.60q", a.id, how, handoffs[i].ID, a.working)
	case len(a.unmentioned) > 0:
		w.fail("agent %d is ended (%s) by handoff %d with work that no document mentions: %.60q", a.id, how, handoffs[i].ID, a.unmentioned[0])
	default:
		w.checkPassedOn(a, &handoffs[i])
	}
}

// beforePaste: the instruction of a cancelled handoff is not typed. It is called before a daemon types into a pane.
func beforePaste(w *world, g *daemonRun, a *agent, ref tmux.Ref, text string) {
	if a == nil || a.ref != ref || a.dead {
		return // the terminal refuses it
	}
	handoffs := w.handoffs()
	for h := range each(handoffs) {
		if h.Phase != daemon.Cancelled || h.AgentID != a.id || !strings.Contains(text, h.Ref) {
			continue
		}
		if had := a.h.usableSince(w.entered[h.ID].seen); had > 15*time.Second { // a daemon may be frozen just before it types
			w.fail("a daemon types the instruction of handoff %d %s after the handoff was cancelled", h.ID, had)
		}
	}
	if a.dialog != nil && !a.dialog.exit {
		w.trace.note(g.name, "types although a dialog is open: the terminal must refuse it")
	}
}
