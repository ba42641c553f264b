package dashboard

import (
	"context"
	"fmt"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/words"
	"github.com/understudyd/understudy/daemon/worktrees"
)

// treesPage is the data of the page of the work trees.
type treesPage struct {
	Trees []tree
	All   bool // those that were removed are on the page, too
}

// tree is a work tree on a page.
type tree struct {
	worktrees.TreeView
	Looked bool // git has looked at it
	Here   bool // it is on the host of the dashboard's daemon
}

// Worktrees draws the page of the work trees. git looks at each of them, so the page follows only the events of work trees.
func (p *Pages) Worktrees(ctx context.Context, all bool, before int64) (*Page, error) {
	list, err := p.House.Worktrees.ListWorktrees(ctx, all, before, 100)
	if err != nil {
		return nil, err
	}
	out := &treesPage{All: all}
	for _, v := range list {
		out.Trees = append(out.Trees, tree{TreeView: v, Looked: true, Here: v.Host == p.Daemon.Host})
	}
	return p.page("worktrees", "Work trees", "worktrees", "worktree", out), nil
}

// treeOf returns the tree of an agent. git looks at it only while the agent rests, because the page of an agent at work is drawn at each
// of its events.
func (p *Pages) treeOf(ctx context.Context, a *daemon.Agent) (*tree, error) {
	if a.WorktreeID == nil {
		return nil, nil
	}
	if a.State == daemon.Idle || !a.Active() {
		v, err := p.House.Worktrees.ShowWorktree(ctx, *a.WorktreeID)
		return &tree{TreeView: v, Looked: true, Here: v.Host == p.Daemon.Host}, err
	}
	row, err := p.Daemon.Store.Worktree(ctx, *a.WorktreeID)
	return &tree{TreeView: worktrees.TreeView{Worktree: row, InUse: true}, Here: row.Host == p.Daemon.Host}, err
}

// Mergeable reports whether the tree can be asked to be merged: its base is known, nothing is being done with it, and its branch
// has something that base does not have, as far as that is known.
func (t *tree) Mergeable() bool {
	may := t.Here && t.State == daemon.TreeStanding && t.Task == nil && t.Base != ""
	return may && (!t.Looked || t.Look.BaseKnown && t.Look.Ahead > 0)
}

// Removable reports whether the tree can be asked to be removed.
func (t *tree) Removable() bool {
	return t.Here && !t.InUse && t.Task == nil && (t.State == daemon.TreeStanding || t.State == daemon.TreeFailed)
}

// Kept reports whether the last removal was refused because work would be lost, so that force is offered.
func (t *tree) Kept() bool {
	return t.Removable() && t.Last != nil && t.Last.Do == daemon.TreeRemove && !t.Last.Done
}

// Restorable reports whether the tree can be brought back.
func (t *tree) Restorable() bool {
	return t.Here && t.State == daemon.TreeRemoved && t.KeptRef != "" && t.Task == nil
}

// Size says how large the tree is on disk.
func (t *tree) Size() string {
	if t.Look.Bytes == 0 {
		return ""
	}
	size := words.Size(t.Look.Bytes)
	if t.Look.AtLeast {
		size = "more than " + size
	}
	return size
}

// Files names files, and says how many more there are.
func (t *tree) Files(names []string, n int) string {
	return words.List(names[:min(len(names), 5)], n)
}

// CopiedWords names what was copied into the tree.
func (t *tree) CopiedWords() string {
	var names []string
	for _, c := range t.Copied[:min(len(t.Copied), 5)] {
		names = append(names, fmt.Sprintf("%s (%s)", c.Path, words.Size(c.Bytes)))
	}
	if len(names) == 0 {
		return ""
	}
	return words.List(names, len(t.Copied))
}
