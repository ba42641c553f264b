package daemon

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/words"
	"github.com/understudyd/understudy/daemon/worktree"
)

// TreeView is a work tree as it is now.
type TreeView struct {
	Worktree
	// PipelineID is the pipeline whose tree this is; its ID is 0. AdoptWorktree makes it a tree of its own. null: none.
	PipelineID *int64        `json:"pipeline_id"`
	Look       worktree.Look `json:"look"`
	Agents     []TreeAgent   `json:"agents"` // that work in it or have worked in it, the newest first
	InUse      bool          `json:"in_use"` // one of them has not ended
}

// TreeAgent is an agent of a work tree.
type TreeAgent struct {
	ID    int64      `json:"id"`
	Name  string     `json:"name"`
	State AgentState `json:"state"`
}

// Ref returns the word by which commands name the tree.
func (v *TreeView) Ref() string {
	if v.PipelineID != nil {
		return fmt.Sprintf("p%d", *v.PipelineID)
	}
	return fmt.Sprint(v.ID)
}

// Standing says in a few words what is to be known of the tree before it is merged or removed.
func (v *TreeView) Standing() string {
	l := &v.Look
	switch {
	case v.Task != nil:
		return fmt.Sprintf("being %sd", v.Task.Do)
	case v.State != TreeStanding && v.State != TreePlanned:
		return string(v.State)
	case v.State == TreePlanned:
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

// ListWorktrees lists work trees as they are now, the newest first. Unless all is set, it leaves out trees that are not there. The trees of
// pipelines come last.
func (d *Daemon) ListWorktrees(ctx context.Context, all bool, before int64, limit int) ([]TreeView, error) {
	rows, err := d.Store.Worktrees(ctx, WorktreeFilter{There: !all, Before: before, Limit: limit})
	if err != nil {
		return nil, err
	}
	views := make([]TreeView, 0, len(rows))
	for _, t := range rows {
		views = append(views, TreeView{Worktree: t})
	}
	if before == 0 {
		kept, err := d.treesOfPipelines(ctx)
		if err != nil {
			return nil, err
		}
		views = append(views, kept...)
	}
	return views, d.lookAtTrees(ctx, views)
}

// ShowWorktree returns one work tree as it is now.
func (d *Daemon) ShowWorktree(ctx context.Context, id int64) (TreeView, error) {
	t, err := d.worktreeRow(ctx, id)
	if err != nil {
		return TreeView{}, err
	}
	views := []TreeView{{Worktree: t}}
	err = d.lookAtTrees(ctx, views)
	return views[0], err
}

// maxTreeRows is how many rows of work trees are looked through at most.
const maxTreeRows = 1000

// treesOfPipelines returns the trees that the newest pipelines have, without those that were adopted or are gone.
func (d *Daemon) treesOfPipelines(ctx context.Context) (views []TreeView, err error) {
	rows, err := d.Store.Worktrees(ctx, WorktreeFilter{There: true, Limit: maxTreeRows})
	if err != nil {
		return nil, err
	}
	list, err := d.Store.Pipelines(ctx, PipelineFilter{Limit: 100})
	for i := range list {
		p := &list[i]
		if p.Worktree == nil || p.Branch == nil || slices.ContainsFunc(rows, func(t Worktree) bool { return t.Host == p.Host && t.Path == *p.Worktree }) {
			continue
		}
		if _, gone := os.Lstat(*p.Worktree); gone == nil || p.Host != d.Host {
			views = append(views, TreeView{PipelineID: &p.ID, InUse: p.Open(), Worktree: *treeOf(p)})
		}
	}
	return views, err
}

// treeOf returns the tree of a pipeline as a row without an id.
func treeOf(p *Pipeline) *Worktree {
	return &Worktree{
		Host: p.Host, Repository: p.Cwd, Path: *p.Worktree, Workdir: p.WorkDir, Branch: *p.Branch, State: TreeStanding,
		Copied: []worktree.Copied{}, CreatedAt: p.CreatedAt, MadeAt: p.StartedAt,
	}
}

// lookAtTrees fills in the looks and the agents of views.
func (d *Daemon) lookAtTrees(ctx context.Context, views []TreeView) error {
	agents, err := d.treeAgents(ctx)
	if err != nil {
		return err
	}
	look, cancel := context.WithTimeoutCause(ctx, treeLooks, fmt.Errorf("the work trees were not all looked at within %s: name one", treeLooks))
	defer cancel()
	for i := range views {
		v := &views[i]
		v.Agents = []TreeAgent{}
		for j := range agents {
			a := &agents[j]
			if a.Host != v.Host || !(a.WorktreeID != nil && *a.WorktreeID == v.ID && v.ID != 0 || within(a.Cwd, v.Path)) {
				continue
			}
			v.InUse = v.InUse || a.Active()
			if len(v.Agents) < maxTreeAgents {
				v.Agents = append(v.Agents, TreeAgent{a.ID, a.Name, a.State})
			}
		}
		switch {
		case v.State == TreeRemoved || v.State == TreeFailed:
			v.Look.Gone = true
		case v.Host != d.Host:
			v.Look.Problem, v.Look.Unreadable = "it is on host "+v.Host+": ask the daemon there", true
		case d.Keeper == nil:
			v.Look.Problem, v.Look.Unreadable = "this daemon looks at no work trees", true
		case look.Err() != nil:
			v.Look.Problem, v.Look.Unreadable = context.Cause(look).Error(), true
		default:
			v.Look = d.Keeper.Look(look, v.place())
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
func (d *Daemon) treeAgents(ctx context.Context) ([]Agent, error) {
	agents, err := d.Store.Agents(ctx, AgentFilter{Limit: MostAgents})
	if err != nil {
		return nil, err
	}
	active, err := d.allAgents(ctx, AgentFilter{Active: true})
	for _, a := range active {
		if !slices.ContainsFunc(agents, func(b Agent) bool { return b.ID == a.ID }) {
			agents = append(agents, a)
		}
	}
	return agents, err
}

// AdoptWorktree makes the tree of a pipeline that has ended a tree of its own, which can be merged and removed.
func (d *Daemon) AdoptWorktree(ctx context.Context, pipelineID int64) (Worktree, error) {
	p, err := d.Store.Pipeline(ctx, pipelineID)
	if err = NotFoundAs(err, errPipelineNotFound); err != nil {
		return Worktree{}, err
	}
	switch {
	case p.Host != d.Host:
		return Worktree{}, d.requireThisHost(p.Host)
	case p.Worktree == nil || p.Branch == nil:
		return Worktree{}, Errorf(KindConflict, CodeWorktreeGone, "Pipeline %d has no work tree", pipelineID)
	case p.Open():
		return Worktree{}, Errorf(KindConflict, CodeWorktreeUsed, "Pipeline %d works in its work tree: abort it first, or wait until it is done", pipelineID)
	}
	rows, err := d.Store.Worktrees(ctx, WorktreeFilter{Host: d.Host, There: true, Limit: maxTreeRows})
	if err != nil {
		return Worktree{}, err
	}
	for _, t := range rows {
		if t.Path == *p.Worktree {
			return t, nil
		}
	}
	t := treeOf(&p)
	if t.ID, err = d.Store.NextID(ctx, WorktreeIDs); err != nil {
		return Worktree{}, err
	}
	p.UpdatedAt = d.now() // Worktree stays: the tree of an ended pipeline without it counts as one that was never finished
	e := d.pipelineEvent(event.PipelineWorktreeAdopted, &p, nil, map[string]any{"path": t.Path, "worktree_id": t.ID})
	err = d.commit(ctx, &Change{NewWorktree: t, PipelineMove: &PipelineMove{Pipeline: &p}, Events: []*event.Event{e}})
	return *t, err
}

// WorktreeDiff compares a work tree with the commit at which its branch began.
func (d *Daemon) WorktreeDiff(ctx context.Context, id int64, in DiffRequest) (out AgentDiff, err error) {
	t, err := d.worktreeRow(ctx, id)
	if err != nil {
		return out, err
	}
	if err := checkDiffFiles(in.Files); err != nil {
		return out, err
	}
	if err := d.requireThisHost(t.Host); err != nil {
		return out, err
	}
	switch {
	case !t.Stands():
		return out, treeNotThere(&t)
	case d.Differ == nil || t.BaseCommit == "":
		return out, Errorf(KindConflict, CodeBaseUnknown, "It is not known where the branch of work tree %d began", id)
	}
	out = AgentDiff{AgentName: t.Branch, Directory: t.Path, Base: worktree.Base{At: *t.MadeAt, Commit: t.BaseCommit, Branch: t.Base, Before: []string{}}, Notes: []string{}}
	err = d.diff(ctx, in, &out)
	return out, err
}
