package worktrees

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/agents"
	"github.com/understudyd/understudy/daemon/words"
	"github.com/understudyd/understudy/daemon/worktree"
)

// TreeView is a work tree as it is now.
type TreeView struct {
	daemon.Worktree
	Look   worktree.Look `json:"look"`
	Agents []TreeAgent   `json:"agents"` // that work in it or have worked in it, the newest first
	InUse  bool          `json:"in_use"` // one of them has not ended, or its pipeline has not
}

// TreeAgent is an agent of a work tree.
type TreeAgent struct {
	ID    int64             `json:"id"`
	Name  string            `json:"name"`
	State daemon.AgentState `json:"state"`
}

// Standing says in a few words what is to be known of the tree before it is merged or removed.
func (v *TreeView) Standing() string {
	l := &v.Look
	switch {
	case v.Task != nil:
		return fmt.Sprintf("being %sd", v.Task.Do)
	case v.State != daemon.TreeStanding && v.State != daemon.TreePlanned:
		return string(v.State)
	case v.State == daemon.TreePlanned:
		return "being made"
	case l.Gone:
		return "gone"
	case l.Unreadable:
		return words.TrimDot(l.Problem)
	}
	parts := ""
	add := func(n int, what string) {
		if n > 0 {
			parts = words.Join(", ", parts, fmt.Sprintf("%d %s", n, what))
		}
	}
	add(l.Ahead, "ahead")
	add(l.Behind, "behind")
	add(l.UncommittedCount, "uncommitted")
	if !l.BaseKnown {
		add(l.Alone, "only here")
	}
	parts = words.Join(", ", parts, l.Busy)
	return cmp.Or(parts, "clean")
}

// maxTreeAgents is how many agents a view names.
const maxTreeAgents = 20

// treeLooks is how long the looks at the trees of one list may take.
const treeLooks = 10 * time.Second

// ListWorktrees lists work trees as they are now, the newest first. Unless all is set, it leaves out trees that are not there.
func (d *Room) ListWorktrees(ctx context.Context, all bool, before int64, limit int) ([]TreeView, error) {
	rows, err := d.Store.Worktrees(ctx, daemon.WorktreeFilter{There: !all, Before: before, Limit: limit})
	if err != nil {
		return nil, err
	}
	views := make([]TreeView, 0, len(rows))
	for _, t := range rows {
		views = append(views, TreeView{Worktree: t})
	}
	return views, d.lookAtTrees(ctx, views)
}

// ShowWorktree returns one work tree as it is now.
func (d *Room) ShowWorktree(ctx context.Context, id int64) (TreeView, error) {
	t, err := d.worktreeRow(ctx, id)
	if err != nil {
		return TreeView{}, err
	}
	views := []TreeView{{Worktree: t}}
	err = d.lookAtTrees(ctx, views)
	return views[0], err
}

// lookAtTrees fills in the looks and the agents of views.
func (d *Room) lookAtTrees(ctx context.Context, views []TreeView) error {
	agents, err := d.treeAgents(ctx)
	if err != nil {
		return err
	}
	look, cancel := context.WithTimeoutCause(ctx, treeLooks, fmt.Errorf("the work trees were not all looked at within %s: name one", treeLooks))
	defer cancel()
	for i := range views {
		v := &views[i]
		v.Agents = []TreeAgent{}
		if v.InUse, err = d.pipelineOpen(ctx, &v.Worktree); err != nil {
			return err
		}
		for j := range agents {
			a := &agents[j]
			if a.Host != v.Host || !uses(&v.Worktree, a) {
				continue
			}
			v.InUse = v.InUse || a.Active()
			if len(v.Agents) < maxTreeAgents {
				v.Agents = append(v.Agents, TreeAgent{a.ID, a.Name, a.State})
			}
		}
		switch {
		case v.State == daemon.TreeRemoved || v.State == daemon.TreeFailed:
			v.Look.Gone = true
		case v.Host != d.Host:
			v.Look.Problem, v.Look.Unreadable = "it is on host "+v.Host+": ask the daemon there", true
		case d.Keeper == nil:
			v.Look.Problem, v.Look.Unreadable = "this daemon looks at no work trees", true
		case look.Err() != nil:
			v.Look.Problem, v.Look.Unreadable = context.Cause(look).Error(), true
		default:
			v.Look = d.Keeper.Look(look, placeOf(&v.Worktree))
		}
		if v.Look.Uncommitted == nil {
			v.Look.Uncommitted = []string{}
		}
		if v.Look.Ignored == nil {
			v.Look.Ignored = []string{}
		}
	}
	return ctx.Err()
}

// treeAgents returns the active agents and the newest of the others, the newest first.
func (d *Room) treeAgents(ctx context.Context) ([]daemon.Agent, error) {
	agents, err := d.Store.Agents(ctx, daemon.AgentFilter{Limit: daemon.MostAgents})
	if err != nil {
		return nil, err
	}
	active, err := d.AllAgents(ctx, daemon.AgentFilter{Active: true})
	for _, a := range active {
		if !slices.ContainsFunc(agents, func(b daemon.Agent) bool { return b.ID == a.ID }) {
			agents = append(agents, a)
		}
	}
	return agents, err
}

// WorktreeDiff compares a work tree with the commit at which its branch began.
func (d *Room) WorktreeDiff(ctx context.Context, id int64, in agents.DiffRequest) (out agents.AgentDiff, err error) {
	t, err := d.worktreeRow(ctx, id)
	if err != nil {
		return out, err
	}
	if err := agents.CheckDiffFiles(in.Files); err != nil {
		return out, err
	}
	if err := d.RequireThisHost(t.Host); err != nil {
		return out, err
	}
	switch {
	case !t.Stands():
		return out, treeNotThere(&t)
	case d.Differ == nil || t.BaseCommit == "":
		return out, daemon.Errorf(daemon.KindConflict, daemon.CodeBaseUnknown, "It is not known where the branch of work tree %d began", id)
	}
	out = agents.AgentDiff{AgentName: t.Branch, Directory: t.Path, Base: worktree.Base{At: *t.MadeAt, Commit: t.BaseCommit, Branch: t.Base, Before: []string{}}, Notes: []string{}}
	err = d.Diff(ctx, in, &out)
	return out, err
}

// uses reports whether an agent of the tree's host works in it, or has worked there.
func uses(t *daemon.Worktree, a *daemon.Agent) bool {
	return a.WorktreeID != nil && *a.WorktreeID == t.ID || agents.Within(a.Cwd, t.Path)
}

// placeOf returns what package git must know of the tree.
func placeOf(t *daemon.Worktree) worktree.Place {
	return worktree.Place{Path: t.Path, Base: t.Base, Copied: t.Copied}
}

// sourceOf returns the folder of the repository that corresponds to Workdir.
func sourceOf(t *daemon.Worktree) string { return t.Repository + strings.TrimPrefix(t.Workdir, t.Path) }
