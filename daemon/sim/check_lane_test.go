package sim

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/runtimes/catalog"
	"github.com/understudyd/understudy/hooks"
)

// seen is what each lane of one run of a daemon has read, by the lane's name.
type seen struct {
	agents map[string]daemon.Agent // agents as the lane read them last, by lane and id
	looks  map[string]time.Time    // when the lane began its newest look at a pane
	stale  map[string]bool         // the lane has committed something after that look, and too slowly
}

func newSeen() seen {
	return seen{map[string]daemon.Agent{}, map[string]time.Time{}, map[string]bool{}}
}

// LookFresh is how old a look at a pane may be when a lane types there after a commit.
const lookFresh = 100 * time.Millisecond

// checkLook notes when a lane looks at a pane, and checks before a paste that the lane has looked there after its last
// slow commit. began is when the call began.
func (g *daemonRun) checkLook(c *call, began time.Time) {
	switch {
	case strings.HasPrefix(c.what, "Look "):
		g.seen.looks[c.who], g.seen.stale[c.who] = began, false
	case strings.HasPrefix(c.what, "Paste ") && g.seen.stale[c.who]:
		g.w.fail("%s: the lane did not look at the pane after its last commit", c.what)
	}
}

// noteCommit notes that a lane has committed something. Its last look at a pane is stale then, unless the commit was
// quick.
func (s *seen) noteCommit(lane string) {
	if at, ok := s.looks[lane]; ok && time.Since(at) > lookFresh {
		s.stale[lane] = true
	}
}

// checkIntention: a lane that commits the intention to type has read the agent as idle, registered and not asked to
// stop.
func checkIntention(w *world, g *daemonRun, lane string, d *daemon.Delivery, was *daemon.Delivery) {
	if d.State != daemon.DeliveryTyping || was == nil || was.State != daemon.DeliveryQueued {
		return
	}
	a, ok := g.seen.agents[fmt.Sprint(lane, " ", d.AgentID)]
	if !ok || !a.AtRest() || a.RegisteredAt == nil || a.StopAskedAt != nil {
		w.fail("delivery %d is about to be typed, but its lane read agent %d as %s, registered %v, asked to stop %v", d.ID, d.AgentID, a.State, a.RegisteredAt, a.StopAskedAt)
	}
}

// before returns the stored rows of the deliveries that a change is about to write.
func before(w *world, c *daemon.Change) map[int64]*daemon.Delivery {
	was := map[int64]*daemon.Delivery{}
	for _, d := range c.Deliveries {
		if row, err := w.lent.Delivery(ctx(), d.ID); err == nil {
			was[d.ID] = &row
		}
	}
	return was
}

// checkVerdicts: a transaction that writes a delivery's verdict appends an event about it, of the delivery or of its
// handoff.
func checkVerdicts(w *world, c *daemon.Change) {
	for _, d := range c.Deliveries {
		if d.Verdict == nil {
			continue
		}
		checkGiven(w, d)
		if d.Kind == daemon.KindGoOn && d.EvidenceCode == daemon.EvidenceWentOn {
			continue // the prompt that made the agent go on is told
		}
		told := slices.ContainsFunc(c.Events, func(e *event.Event) bool {
			if string(e.Type) == "delivery_"+string(*d.Verdict) || e.Type == event.DeliveryCancelled {
				return tells(e, d.ID)
			}
			ofHandoff := d.HandoffID != nil && e.HandoffID != nil && *e.HandoffID == *d.HandoffID && e.Type.About("handoff")
			return ofHandoff || d.Kind == daemon.KindExit && e.Type == "agent_stop_withdrawn"
		})
		if !told {
			w.fail("delivery %d is %s (%s), but no event says so", d.ID, *d.Verdict, d.Evidence)
		}
	}
}

// word returns a field of an event's payload if it is a text, else "".
func word(e *event.Event, field string) string {
	var p map[string]any
	_ = json.Unmarshal(e.Payload, &p) // a payload that is not an object has no field
	s, _ := p[field].(string)
	return s
}

// tells reports whether an event names a delivery.
func tells(e *event.Event, id int64) bool {
	var p struct {
		DeliveryID int64 `json:"delivery_id"`
	}
	return json.Unmarshal(e.Payload, &p) == nil && p.DeliveryID == id
}

// checkMessages: the log has the verdict of each message once.
func checkMessages(w *world, agents []daemon.Agent, events []event.Event) {
	for a := range each(agents) {
		for d := range each(deliveries(w, a.ID)) {
			if d.Kind != daemon.KindMessage || d.Verdict == nil {
				continue
			}
			n := 0
			for e := range each(events) {
				if (string(e.Type) == "delivery_"+string(*d.Verdict) || e.Type == event.DeliveryCancelled) && tells(e, d.ID) {
					n++
				}
			}
			if n != 1 {
				w.fail("message %d for agent %d is %s (%s), but the log says so %d times", d.ID, d.AgentID, *d.Verdict, d.Evidence, n)
			}
		}
	}
}

// checkHook: a hook that proves a delivery confirms it. was is the agent's deliveries before the hook.
func checkHook(w *world, in daemon.HookInput, tx daemon.HookTx, was []daemon.Delivery, out *daemon.HookDecision) {
	p, err := hooks.Parse(in.Event, in.Body)
	if err != nil {
		w.fail("hook %s: %v", in.Event, err)
		return
	}
	if in.Replayed && !tx.Again && len(out.Output) > 0 {
		w.fail("hook %d comes out of the spool, but the daemon answers it: %s", tx.HookID, out.Output)
	}
	if w.hookOf[tx.HookID] = tx.NewAgentID; tx.Agent != nil {
		w.hookOf[tx.HookID] = tx.Agent.ID
	}
	if tx.Agent != nil && !tx.Agent.Active() {
		w.late[tx.Agent.ID] = true
	}
	now := func(id int64) (state daemon.DeliveryState, confirmed bool) {
		for _, d := range tx.Deliveries {
			if d.ID == id {
				state, confirmed = d.State, heard(tx, d) || d.Verdict != nil && *d.Verdict == daemon.Submitted
			}
		}
		return state, confirmed
	}
	for d := range each(was) {
		state, confirmed := now(d.ID)
		typed := d.State == daemon.DeliveryTyping || d.State == daemon.DeliveryTyped
		answered := d.State == daemon.DeliveryAnswered
		switch {
		case tx.Again && in.Replayed && answered && d.HookKey == in.Key && state != daemon.DeliveryQueued:
			w.fail("the answer to hook %s with delivery %d was lost, but the delivery is not queued again", in.Key, d.ID)
		case tx.Again || !out.Applied || tx.Agent == nil || !tx.Agent.Active():
		case in.Event == hooks.UserPromptSubmit && typed && strings.Contains(p.Prompt, token(d)) && !confirmed:
			w.fail("hook %d proves that delivery %d was taken, but it is %s", tx.HookID, d.ID, state)
		case in.Event == hooks.Stop && p.StopHookActive && answered && d.HookKey != in.Key && in.At.Truncate(time.Microsecond).After(*d.TypedAt) && !confirmed: // else another run of the answered command
			w.fail("hook %d proves that the answer with delivery %d was taken, but it is %s", tx.HookID, d.ID, state)
		}
	}
}

// heard reports whether a hook has told of a delivery as a prompt that the runtime may still refuse.
func heard(tx daemon.HookTx, d *daemon.Delivery) bool {
	rt, err := catalog.For(tx.Agent.Runtime)
	return err == nil && rt.Can.TellsRefusals && d.Heard == tx.HookID && d.State == daemon.DeliveryTyped
}

// moves returns the moves that the tables in docs/states.md allow: of handoffs, of pipelines and of steps.
var moves = sync.OnceValues(func() (tables [3]map[string]bool, err error) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "states.md"))
	if err != nil {
		return tables, err
	}
	diagrams := strings.Split(string(text), "```mermaid")
	if len(diagrams) != len(tables)+1 {
		return tables, fmt.Errorf("docs/states.md has %d diagrams", len(diagrams)-1)
	}
	for i := range tables {
		tables[i] = map[string]bool{}
		diagram, _, _ := strings.Cut(diagrams[i+1], "```")
		for _, m := range regexp.MustCompile(`(?m)^ +(\w+) --> (\w+)`).FindAllStringSubmatch(diagram, -1) {
			tables[i][m[1]+" "+m[2]] = true
		}
	}
	return tables, nil
})

// checkMove: a row moves as its table says.
func checkMove(w *world, table int, what, from, to string) {
	tables, err := moves()
	if err != nil {
		w.fail("%v", err)
	} else if !tables[table][from+" "+to] {
		w.fail("%s moved from %s to %s, which its table does not allow", what, from, to)
	}
}

// checkCode: a handoff that failed because an agent ended has the code of that, and not of a consequence.
func checkCode(w *world, h *daemon.Handoff) {
	if h.DeliveryID == nil || h.Error == nil {
		return
	}
	d, err := w.lent.Delivery(ctx(), *h.DeliveryID)
	if err != nil {
		w.fail("%v", err)
		return
	}
	ended := d.Verdict != nil && *d.Verdict != daemon.Submitted && d.EvidenceCode == daemon.EvidenceEnded
	if ended && (strings.HasPrefix(string(h.Error.Code), "prompt_") || strings.HasPrefix(string(h.Error.Code), "instruction_")) {
		w.fail("handoff %d failed with %s, but the cause is that agent %d ended", h.ID, h.Error.Code, d.AgentID)
	}
}

// isHook reports whether an owner is the process of a hook with this event.
func isHook(own *owner, event string) bool { return strings.Contains(own.name, " hook "+event+"-") }

// isCommit reports whether a call commits a change whose description contains what.
func isCommit(c *call, what string) bool {
	return strings.HasPrefix(c.what, "Commit ") && strings.Contains(c.what, what)
}
