package daemon

import (
	"context"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/tmux"
)

const maxSentence = 2000 // characters

// maxAllowRules is how many rules an agent may have by [AllowAgent].
const maxAllowRules = 200

// PermissionAnswer is what the operator answers.
type PermissionAnswer struct {
	Verdict  PermissionVerdict
	Sentence string // what the agent is told; with Deny only
	Digest   string // Permission.Digest of what the operator was shown
	From     string // where the answer comes from, for the log
	// Sender is the process that sent the answer; nil: it came over TCP.
	Sender *tmux.Peer
}

// AnswerPermission commits the operator's answer to a permission. The first answer counts; a second one is refused with who
// was first. An agent may not answer, neither its own permissions nor those of others.
func (d *Daemon) AnswerPermission(ctx context.Context, id int64, in PermissionAnswer) (Permission, error) {
	switch {
	case !slices.Contains([]PermissionVerdict{Allow, AllowAgent, Deny}, in.Verdict):
		return Permission{}, Errorf(KindInvalid, CodeBadVerdict, "verdict must be allow, allow_agent or deny")
	case in.Sentence != "" && in.Verdict != Deny:
		return Permission{}, Errorf(KindInvalid, CodeBadSentence, "sentence goes with verdict deny only: the agent is told nothing else")
	case utf8.RuneCountInString(in.Sentence) > maxSentence:
		return Permission{}, Errorf(KindInvalid, CodeBadSentence, "sentence may have %d characters at most", maxSentence)
	}
	if err := d.notFromAgent(ctx, in.Sender, CodePermissionByAgent, "answer permissions"); err != nil {
		return Permission{}, err
	}
	if p, err := d.Permission(ctx, id); err != nil {
		return Permission{}, err
	} else if p.State == PermissionOpen && p.Host == d.Host {
		d.asking.awaitHook(ctx, id, hookComes) // checkAnswer refuses the answer if none has come
	}
	err := d.changePermission(ctx, id, func(p *Permission, a *Agent, c *Change) error {
		if err := d.checkAnswer(p, &in); err != nil {
			return err
		}
		now := d.now()
		p.State, p.Verdict, p.AnsweredBy, p.From, p.Sentence, p.AnsweredAt = PermissionAnswered, in.Verdict, PermissionByOperator, in.From, in.Sentence, &now
		if in.Verdict == AllowAgent && !slices.Contains(a.AllowRules, p.Rule) {
			if len(a.AllowRules) >= maxAllowRules {
				return Errorf(KindConflict, CodeBadVerdict, "Agent %d has %d rules already: allow it once", a.ID, maxAllowRules)
			}
			a.AllowRules = append(slices.Clone(a.AllowRules), p.Rule)
			c.Agents = []*Agent{a}
		}
		c.Events = []*event.Event{d.facts().permissionEvent(event.PermissionAnswered, p, a)}
		return nil
	})
	if err != nil {
		return Permission{}, err
	}
	return d.Permission(ctx, id)
}

// checkAnswer refuses an answer that is too late, or that is not about what was shown.
func (d *Daemon) checkAnswer(p *Permission, in *PermissionAnswer) error {
	switch {
	case p.State != PermissionOpen:
		return Errorf(KindConflict, CodePermissionAnswered, "Permission %d is answered already: %s", p.ID, p.Outcome())
	case in.Digest != p.Digest:
		return Errorf(KindConflict, CodePermissionNotShown, "The answer is not about what permission %d asks: look at `understudy permission show %[1]d` and answer that", p.ID)
	case in.Verdict != Deny && !p.Whole:
		return Errorf(KindConflict, CodePermissionNotShown, "Permission %d is too long to be shown as a whole: allow it in its pane, `understudy agent attach %d`", p.ID, p.AgentID)
	case in.Verdict == AllowAgent && p.Rule == "":
		return Errorf(KindConflict, CodeBadVerdict, "No rule can say what permission %d asks: allow it once", p.ID)
	case p.Host == d.Host && !d.asking.waits(p.ID):
		return Errorf(KindUnavailable, CodePermissionNotHeld, "The hook of permission %d is away for a moment: try again, or answer in its pane, `understudy agent attach %d`", p.ID, p.AgentID)
	}
	return nil
}

// askedFor says what an agent waits for, as [waitsFor] says it.
func askedFor(p *Permission) string {
	return fmt.Sprintf("permission for %s", p.Line())
}

// agentOf returns the id of the active agent that a process is, or inside whose process it runs; 0: none.
func (d *Daemon) agentOf(ctx context.Context, proc tmux.Process) (int64, error) {
	active, err := d.roster.agents(ctx)
	if err != nil {
		return 0, err
	}
	for i := range active {
		if a := &active[i]; proc.PID != 0 && a.PID == proc.PID && a.PIDStart == proc.Start {
			return a.ID, nil
		}
	}
	return d.agentAround(ctx, proc)
}

// notFromAgent refuses what a process that is an agent, or runs inside one, must not do.
func (d *Daemon) notFromAgent(ctx context.Context, sender *tmux.Peer, code Code, what string) error {
	if sender == nil {
		return nil
	}
	around, err := d.agentOf(ctx, sender.Process)
	if err != nil {
		return err
	}
	if around != 0 {
		return Errorf(KindForbidden, code, "Agent %d may not %s: the operator does that from outside of an agent", around, what)
	}
	return nil
}
