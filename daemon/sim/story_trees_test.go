package sim

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/house"
	"github.com/understudyd/understudy/daemon/worktrees"
)

// emptyTree returns a work tree, and its agent, which has worked and has ended.
func emptyTree(p *person, h *host) (daemon.Worktree, *agent) {
	p.plant(h)
	p.await("its agent", time.Minute, func() bool { return len(p.w.agents) > 0 && p.w.agents[0].ready })
	a := p.w.agents[0]
	p.promptOnce(a)
	p.stop(h, a.id, false)
	p.await("the end of its agent", time.Minute, func() bool { return p.row(a).EndedAt != nil })
	return p.w.treesOf(h)[0], a
}

// removed asks for the removal of a tree, and wants that the removal is done.
func removed(p *person, t *testing.T, h *host, tree *daemon.Worktree) {
	p.askTree(h, tree, "remove", func(ctx context.Context, d *house.House) (daemon.Worktree, error) {
		return d.Worktrees.RemoveWorktree(ctx, tree.ID, worktrees.TreeRemoval{})
	})
	p.await("its removal", time.Minute, func() bool { return !p.w.treesOpen(h) })
	if row := p.w.treesOf(h)[0]; row.State != daemon.TreeRemoved {
		t.Errorf("the tree is %s: %+v", row.State, row.Last)
	}
}

// TestRemovalAcrossAnOutage: the database does not answer the lane of a tree that is to be removed, before or after the removal. That is
// no reason to keep the tree: it is removed when the database answers. Every run checks that the row says what stands.
func TestRemovalAcrossAnOutage(t *testing.T) {
	for name, began := range map[string]bool{"before the removal": true, "after the removal": false} {
		t.Run(name, func(t *testing.T) {
			story(t, func(t *testing.T, p *person, h *host) {
				tree, _ := emptyTree(p, h)
				times := 0
				p.w.inject = func(c *call) fault {
					switch {
					case !strings.HasPrefix(c.who, "work tree"):
					case !began && isCommit(c, "«worktree_removed»"):
						began = true
						return failed
					case began && c.what == "list of agents" && times < 5:
						times++
						return failed
					}
					return none
				}
				removed(p, t, h, &tree)
				if times != 5 {
					t.Errorf("the database did not answer %d times", times)
				}
			})
		})
	}
}

// TestAgentWhileATreeIsRemoved: the agent of a tree is resumed when the tree was removed, but that was not stored yet. The removal is
// ended all the same. Every run checks that the row says what stands.
func TestAgentWhileATreeIsRemoved(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		tree, a := emptyTree(p, h)
		resuming := false
		p.delayFirst(func(c *call) bool { return isCommit(c, "new agent") }, func() time.Duration {
			resuming = true
			return 500 * time.Millisecond
		})
		p.w.employ("another", func(p *person) { p.reopen(h, a.id) })
		p.poll("the new agent", func() bool { return resuming })
		p.w.inject = func(c *call) fault {
			if isCommit(c, "«worktree_removed»") && p.row(a).SuccessorID == nil {
				return failed
			}
			return none
		}
		removed(p, t, h, &tree)
		if p.row(a).SuccessorID == nil {
			t.Error("its agent was not resumed")
		}
	})
}
