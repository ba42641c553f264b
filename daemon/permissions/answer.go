package permissions

import (
	"context"
	"slices"
	"unicode/utf8"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/views"
)

const maxSentence = 2000 // characters

// maxAllowRules is how many rules an agent may have by [AllowAgent].
const maxAllowRules = 200

// Answer is what the operator answers.
type Answer struct {
	Verdict  daemon.PermissionVerdict
	Sentence string // what the agent is told; with Deny only
	Digest   string // Permission.Digest of what the operator was shown
	From     string // where the answer comes from, for the log
}

// Answer commits the operator's answer to a permission. The first answer counts; a second one is refused with who
// was first.
func (r *Room) Answer(ctx context.Context, id int64, in Answer) (daemon.Permission, error) {
	switch {
	case !slices.Contains([]daemon.PermissionVerdict{daemon.Allow, daemon.AllowAgent, daemon.Deny}, in.Verdict):
		return daemon.Permission{}, daemon.Errorf(daemon.KindInvalid, daemon.CodeBadVerdict, "verdict must be allow, allow_agent or deny")
	case in.Sentence != "" && in.Verdict != daemon.Deny:
		return daemon.Permission{}, daemon.Errorf(daemon.KindInvalid, daemon.CodeBadSentence, "sentence goes with verdict deny only: the agent is told nothing else")
	case utf8.RuneCountInString(in.Sentence) > maxSentence:
		return daemon.Permission{}, daemon.Errorf(daemon.KindInvalid, daemon.CodeBadSentence, "sentence may have %d characters at most", maxSentence)
	}
	if p, err := r.Permission(ctx, id); err != nil {
		return daemon.Permission{}, err
	} else if p.State == daemon.PermissionOpen && p.Host == r.env.Host {
		r.asking.awaitHook(ctx, id, hookComes) // checkAnswer refuses the answer if none has come
	}
	err := r.changePermission(ctx, id, func(p *daemon.Permission, a *daemon.Agent, c *daemon.Change) error {
		if err := r.checkAnswer(p, &in); err != nil {
			return err
		}
		p.Answer(in.Verdict, daemon.PermissionByOperator, in.Sentence, r.env.Now())
		p.From = in.From
		if in.Verdict == daemon.AllowAgent && !slices.Contains(a.AllowRules, p.Rule) {
			if len(a.AllowRules) >= maxAllowRules {
				return daemon.Errorf(daemon.KindConflict, daemon.CodeBadVerdict, "Agent %d has %d rules already: allow it once", a.ID, maxAllowRules)
			}
			a.AllowRules = append(slices.Clone(a.AllowRules), p.Rule)
			c.Agents = []*daemon.Agent{a}
		}
		c.Events = []*event.Event{r.env.Facts().PermissionEvent(event.PermissionAnswered, p, a)}
		return nil
	})
	if err != nil {
		return daemon.Permission{}, err
	}
	return r.Permission(ctx, id)
}

// checkAnswer refuses an answer that is too late, or that is not about what was shown.
func (r *Room) checkAnswer(p *daemon.Permission, in *Answer) error {
	switch {
	case p.State != daemon.PermissionOpen:
		return daemon.Errorf(daemon.KindConflict, daemon.CodePermissionAnswered, "Permission %d is answered already: %s", p.ID, views.PermissionOutcome(p))
	case in.Digest != p.Digest:
		return daemon.Errorf(daemon.KindConflict, daemon.CodePermissionNotShown, "The answer is not about what permission %d asks: look at `understudy permission show %[1]d` and answer that", p.ID)
	case in.Verdict != daemon.Deny && !p.Whole:
		return daemon.Errorf(daemon.KindConflict, daemon.CodePermissionNotShown, "Permission %d is too long to be shown as a whole: allow it in its pane, `understudy agent attach %d`", p.ID, p.AgentID)
	case in.Verdict == daemon.AllowAgent && p.Rule == "":
		return daemon.Errorf(daemon.KindConflict, daemon.CodeBadVerdict, "No rule can say what permission %d asks: allow it once", p.ID)
	case p.Host == r.env.Host && !r.asking.waits(p.ID):
		return daemon.Errorf(daemon.KindUnavailable, daemon.CodePermissionNotHeld, "The hook of permission %d is away for a moment: try again, or answer in its pane, `understudy agent attach %d`", p.ID, p.AgentID)
	}
	return nil
}

// List returns permissions, the newest first.
func (r *Room) List(ctx context.Context, f daemon.PermissionFilter) ([]daemon.Permission, error) {
	return r.store.Permissions(ctx, f)
}

// Permission returns one permission.
func (r *Room) Permission(ctx context.Context, id int64) (daemon.Permission, error) {
	p, err := r.store.Permission(ctx, id)
	return p, engine.NotFoundAs(err, daemon.ErrPermissionNotFound)
}
