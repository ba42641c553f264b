package sim

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/house"
	"github.com/understudyd/understudy/daemon/pipelines"
	"github.com/understudyd/understudy/daemon/worktrees"
)

// emptyTree returns a work tree, and its agent, which has worked and has ended.
func emptyTree(p *person, h *host) (daemon.Worktree, *agent) {
	p.plant(h)
	p.await("its agent", time.Minute, func() bool { return len(p.w.agents) > 0 && p.w.agents[0].ready })
	a := p.w.agents[0]
	p.promptOnce(a)
	p.stopped(h, a)
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
		storyAs(t, name, func(t *testing.T, p *person, h *host) {
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
			equal(t, "the database did not answer … times", times, 5)
		})
	}
}

// TestAgentWhileATreeIsRemoved: the agent of a tree is resumed when the tree was removed, but that was not stored yet. The removal is
// ended all the same. Every run checks that the row says what stands.
func TestAgentWhileATreeIsRemoved(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		tree, a := emptyTree(p, h)
		resuming := p.w.holdFirst(500*time.Millisecond, commits("new agent"))
		p.w.employ("another", func(p *person) { p.reopen(h, a.id) })
		p.poll("the new agent", func() bool { return *resuming })
		p.w.failEach(failed, func(c *call) bool { return isCommit(c, "«worktree_removed»") && p.row(a).SuccessorID == nil })
		removed(p, t, h, &tree)
		equal(t, "its agent was not resumed", p.row(a).SuccessorID == nil, false)
	})
}

// onBranch creates a pipeline with a work tree of its own.
func onBranch(p *person, h *host, template, branch string) int64 {
	return createPipeline(p, h, pipelines.NewPipeline{Template: template, Cwd: h.cwd, Branch: branch})
}

// TestTreeOfAPipeline: all agents of a pipeline on a branch work in its tree. If somebody removes that while the pipeline waits, it is made
// again. At the end it is removed, unless it holds work that is not committed: then a warning says so.
func TestTreeOfAPipeline(t *testing.T) {
	for _, loose := range []bool{false, true} {
		storyAs(t, fmt.Sprint("with loose work: ", loose), func(t *testing.T, p *person, h *host) {
			id := onBranch(p, h, "two", "roof")
			pl := p.reachStatus(id, daemon.PipelineWaiting)
			path := *pl.Worktree
			if a := p.w.agents[0]; a.begun != path || path == h.cwd {
				t.Errorf("agent %d works in %s, want %s", a.id, a.begun, path)
			}
			p.await("its agent's end", time.Minute, func() bool { return p.w.agents[0].dead })
			delete(h.wood.trees, path)
			h.wood.cut[path]++
			p.w.ok(os.RemoveAll(path))
			p.w.born = func(a *agent) {
				if _, there := h.wood.trees[path]; !there || a.begun != path {
					t.Errorf("an agent works in %s, want %s, which stands: %t", a.begun, path, there)
				}
				if loose {
					h.wood.made, h.wood.trees[path] = append(h.wood.made, "tiles"), tree{loose: []string{"tiles"}}
				}
			}
			p.approve(&pl, h)
			pl = p.reachStatus(id, daemon.PipelineDone)
			if _, there := h.wood.trees[path]; there != loose || (pl.Worktree != nil) != loose || has(pl.Warnings, path) != loose {
				t.Errorf("the tree stands: %t, as %v: %q", there, pl.Worktree, pl.Warnings)
			}
		})
	}
}

// TestTreeThatCannotBeMade: git refuses to make a tree. An agent that was to work there is not started, and a pipeline fails before its first
// step, with the reason. A resume goes on when git makes it.
func TestTreeThatCannotBeMade(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		p.w.failEach(failed, calls("Make tree"))
		p.plant(h)
		p.await("the end of what was never started", time.Minute, func() bool { return rowOf(p, 1).EndedAt != nil })
		if a := rowOf(p, 1); !strings.HasPrefix(*a.EndReason, "not started: the work tree of branch "+personaSlugs[0]+"-1 could not be made: ") || p.w.treesOf(h)[0].State != daemon.TreeFailed {
			t.Errorf("it ended by %q, the tree is %s", *a.EndReason, p.w.treesOf(h)[0].State)
		}
		id := onBranch(p, h, "one", "roof")
		pl := p.reachStatus(id, daemon.PipelineFailed)
		if pl.ErrorCode != daemon.CodeWorktreeFailed || !strings.HasPrefix(*pl.Error, "The work tree of branch roof could not be made: ") || pl.Steps[0].Status != daemon.StepPending {
			t.Errorf("it failed with %s: %s", pl.ErrorCode, *pl.Error)
		}
		p.w.inject = nil
		p.resume(&pl, false)
		p.reachStatus(id, daemon.PipelineDone)
	})
}

// TestTreeOfALine: a successor and an agent that opens the session again work in the tree of their predecessor. It is not removed under them,
// also if the removal was asked for before they came, and no session is opened again in a tree that was removed.
func TestTreeOfALine(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		row, a := emptyTree(p, h)
		again := p.w.process(p.reopen(h, a.id).ID)
		p.poll("its pane", func() bool { again = p.w.newestProcess(2); return again != nil && again.ready })
		next := p.w.process(*p.request(h, again, daemon.Completed).SuccessorID)
		if again.begun != row.Path || next.begun != row.Path || *p.row(next).WorktreeID != row.ID {
			t.Errorf("agents work in %s and %s, want %s", again.begun, next.begun, row.Path)
		}
		remove := func(ctx context.Context, d *house.House) error {
			return errorOf(d.Worktrees.RemoveWorktree(ctx, row.ID, worktrees.TreeRemoval{Force: true}))
		}
		wantCode(t, p.ask(h, "remove", remove), daemon.CodeWorktreeUsed)
		row = p.w.treesOf(h)[0]
		row.Ask(daemon.TreeTask{Do: daemon.TreeRemove, Force: true}, time.Now())
		asked := &event.Event{Type: event.WorktreeAsked, Payload: []byte(`{"worktree_id":1}`)}
		p.w.ok(p.w.store.Commit(ctx(), &daemon.Change{Worktrees: []*daemon.Worktree{&row}, Events: []*event.Event{asked}}))
		p.await("what comes of it", time.Minute, func() bool { return !p.w.treesOpen(h) })
		if row = p.w.treesOf(h)[0]; row.State != daemon.TreeStanding || !strings.Contains(row.Last.Says, fmt.Sprintf("works in work tree %d", row.ID)) {
			t.Errorf("the tree is %s: %s", row.State, row.Last.Says)
		}
		p.stopped(h, next)
		removed(p, t, h, &row)
		wantCode(t, errorOf(resumeAgent(p, h, next.id)), daemon.CodeWorktreeRemoved)
	})
}
