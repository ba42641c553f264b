package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/agents"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/house"
	"github.com/understudyd/understudy/daemon/worktree"
	"github.com/understudyd/understudy/daemon/worktrees"
)

// The work trees of agents. Foresters start agents in trees of their own, work in the trees, and have them merged, removed and brought
// back, each at any time. What was ever made must be somewhere.

// wood is the repository of a host.
type wood struct {
	main  []string        // the commits on main
	trees map[string]tree // by path
	kept  map[string]tree // by reference
	cut   map[string]int  // how often somebody has deleted the folder of a tree, by path
	made  []string        // all that was ever made
}

// tree is what a work tree holds.
type tree struct {
	commits, loose []string // loose: not committed
}

// tip is the newest commit of the tree's branch.
func (t tree) tip() string {
	if len(t.commits) == 0 {
		return "root"
	}
	return t.commits[len(t.commits)-1]
}

func (t tree) all() []string { return slices.Concat(t.commits, t.loose) }

// alone are the commits that main does not have.
func (o *wood) alone(t tree) []string {
	return slices.DeleteFunc(slices.Clone(t.commits), func(c string) bool { return slices.Contains(o.main, c) })
}

// checkWood: nothing is lost.
func (h *host) checkWood(what string) {
	o := &h.wood
	for _, thing := range o.made {
		there := slices.Contains(o.main, thing)
		for _, trees := range []map[string]tree{o.trees, o.kept} {
			for t := range maps.Values(trees) {
				there = there || slices.Contains(t.all(), thing)
			}
		}
		if !there {
			h.w.fail("%s: %s is lost by %s", h.name, thing, what)
		}
	}
}

// keeper is git for the work trees of agents.
type keeper struct{ g *daemonRun }

func (k keeper) wood() *wood { return &k.g.h.wood }

func (k keeper) act(ctx context.Context, what string, do func() error) error {
	return does(k.g, ctx, typing, what, func() error {
		err := do()
		k.g.h.checkWood(what)
		return err
	})
}

func (k keeper) Plan(ctx context.Context, s worktree.Spec) (p worktree.Plan, err error) {
	return p, k.act(ctx, "Plan tree "+s.Branch, func() error {
		p = worktree.Plan{Repository: s.Dir, Workdir: s.Path, NewBranch: true, Base: "main", BaseCommit: "root"}
		return nil
	})
}

func (k keeper) Make(ctx context.Context, s worktree.Spec) (m worktree.Made, err error) {
	return m, k.act(ctx, "Make tree "+s.Branch, func() error {
		m.Workdir = s.Path
		from, ok := k.wood().kept[s.Kept]
		if s.Kept != "" && !ok {
			return errors.New("there is no " + s.Kept)
		}
		if _, there := k.wood().trees[s.Path]; !there {
			k.wood().trees[s.Path] = from
		}
		return os.MkdirAll(s.Path, 0o700)
	})
}

func (k keeper) Look(ctx context.Context, p worktree.Place) (l worktree.Look) {
	err := k.act(ctx, "Look at tree", func() error {
		t, there := k.wood().trees[p.Path]
		l = worktree.Look{Gone: !there, Commit: t.tip(), Ahead: len(k.wood().alone(t)), BaseKnown: true, Uncommitted: t.loose, UncommittedCount: len(t.loose)}
		return nil
	})
	if err != nil {
		_, there := k.wood().trees[p.Path]
		return worktree.Look{Gone: !there, Unreadable: there, Problem: err.Error()} // a folder is looked for without git
	}
	return l
}

func (k keeper) Merge(ctx context.Context, m worktree.Merging) (out worktree.Merged, err error) {
	return out, k.act(ctx, "Merge tree", func() error {
		o := k.wood()
		t, there := o.trees[m.Path]
		out.Commit, out.From = "main", m.Commit
		switch {
		case m.Commit == "root" || slices.Contains(o.main, m.Commit):
			out.Already = true
		case !there || t.tip() != m.Commit || len(t.loose) > 0:
			out.Refused = "the tree has changed"
		case k.g.w.woods.IntN(4) == 0:
			out.Refused, out.Conflicts = "both sides have changed a file", []string{"a"}
		default:
			o.main = append(o.main, o.alone(t)...)
			k.g.w.plan.count("tree merged")
		}
		return nil
	})
}

func (k keeper) Remove(ctx context.Context, r worktree.Removal) (out worktree.Removed, err error) {
	return out, k.act(ctx, "Remove tree", func() error {
		o := k.wood()
		if r.Discard {
			delete(o.trees, r.Path) // checkWood finds that something is lost
			return os.RemoveAll(r.Path)
		}
		if t, there := o.trees[r.Path]; there {
			k.g.w.checkEmpty(r.Path)
			if !r.Force && len(t.loose)+len(o.alone(t)) > 0 {
				out.Kept, out.Holds = "it holds work", true
				return nil
			}
			o.kept[r.Ref] = t
			delete(o.trees, r.Path)
			k.g.w.plan.count("tree removed")
		}
		_, out.Ref = o.kept[r.Ref]
		out.BranchDeleted = true
		return os.RemoveAll(r.Path)
	})
}

// checkEmpty: no tree is removed while an agent works there.
func (w *world) checkEmpty(path string) {
	agents, _ := w.rows()
	for a := range each(agents) {
		if a.WorktreeID != nil && a.Cwd == path && w.process(a.ID) != nil {
			w.fail("the tree %s was removed under agent %d", path, a.ID)
		}
	}
}

// treesOf returns the rows of a host's trees, the newest first.
func (w *world) treesOf(h *host) []daemon.Worktree {
	return must(w.lent.Worktrees(ctx(), daemon.WorktreeFilter{Host: h.name, Limit: 1000}))
}

// treesOpen reports whether something is being done with a tree.
func (w *world) treesOpen(h *host) bool {
	open, err := w.lent.Open(ctx(), h.name)
	return err != nil || len(open.Trees) > 0
}

// forest is somebody who works with trees.
func (p *person) forest(h *host) {
	rng := p.w.woods
	for range 5 + rng.IntN(15) {
		p.wait("looks at the trees", 0, 8*time.Second)
		list := p.w.treesOf(h)
		if len(list) == 0 || rng.IntN(6) == 0 {
			p.plant(h)
			continue
		}
		t := list[rng.IntN(len(list))]
		switch do := rng.IntN(8); do {
		case 0, 1:
			p.work(h, &t)
		case 2:
			p.askTree(h, &t, "merge", func(ctx context.Context, d *house.House) (daemon.Worktree, error) {
				return d.Worktrees.MergeWorktree(ctx, t.ID, worktrees.TreeMerging{})
			})
		case 3, 4:
			p.askTree(h, &t, "remove", func(ctx context.Context, d *house.House) (daemon.Worktree, error) {
				return d.Worktrees.RemoveWorktree(ctx, t.ID, worktrees.TreeRemoval{Force: do == 3})
			})
		case 5:
			p.askTree(h, &t, "restore", func(ctx context.Context, d *house.House) (daemon.Worktree, error) {
				return d.Worktrees.RestoreWorktree(ctx, t.ID)
			})
		default:
			p.tend(h, &t)
		}
	}
}

// plant starts an agent in a tree of its own.
func (p *person) plant(h *host) {
	_, _ = startWith(p, h, agents.NewAgent{Persona: personaSlugs[0], Runtime: "claude", Worktree: &agents.NewWorktree{}})
}

// work leaves something in a tree that stands, or commits what was left there.
func (p *person) work(h *host, t *daemon.Worktree) {
	o := &h.wood
	holds, there := o.trees[t.Path]
	if !there || t.State == daemon.TreePlanned {
		return
	}
	thing := fmt.Sprintf("work %d", len(o.made)+1)
	o.made = append(o.made, thing)
	switch p.w.woods.IntN(3) {
	case 0:
		holds.loose = append(slices.Clone(holds.loose), thing)
	case 1:
		holds.commits = append(slices.Clone(holds.commits), thing)
	default:
		holds.commits, holds.loose = append(holds.all(), thing), nil
	}
	o.trees[t.Path] = holds
	p.w.trace.note(p.name, "%s in tree %d", thing, t.ID)
}

func (p *person) askTree(h *host, t *daemon.Worktree, what string, do func(context.Context, *house.House) (daemon.Worktree, error)) {
	_ = p.ask(h, fmt.Sprintf("%s tree %d", what, t.ID), func(ctx context.Context, d *house.House) error { return errorOf(do(ctx, d)) })
}

// tend stops the newest agent of a tree, or opens its session again.
func (p *person) tend(h *host, t *daemon.Worktree) {
	agents, _ := p.w.rows()
	i := slices.IndexFunc(agents, func(a daemon.Agent) bool { return a.WorktreeID != nil && *a.WorktreeID == t.ID })
	if i < 0 {
		return
	}
	a := agents[i]
	if a.Active() {
		_ = stop(p, h, a.ID, false)
	} else {
		_, _ = resumeAgent(p, h, a.ID)
	}
}

// treesEnded: each thing that was asked of a tree has one outcome, and rows say what stands.
func (w *world) treesEnded(events []event.Event) {
	asked, told, made := map[int64]int{}, map[int64]int{}, map[int64]int{}
	for e := range each(events) {
		var about struct {
			ID int64 `json:"worktree_id"`
		}
		_ = json.Unmarshal(e.Payload, &about) // a payload that is not an object has no field
		id := about.ID
		switch e.Type {
		case event.WorktreeAsked:
			asked[id]++
		case event.WorktreeMerged, event.WorktreeMergeRefused, event.WorktreeKept, event.WorktreeRemoved, event.WorktreeRestored, event.WorktreeRestoreFailed:
			told[id]++
		case event.WorktreeCreated:
			made[id]++
		}
	}
	for _, h := range w.hosts {
		h.checkWood("its end")
		for _, t := range w.treesOf(h) {
			_, there := h.wood.trees[t.Path]
			_, kept := h.wood.kept[t.KeptRef]
			switch {
			case asked[t.ID] != told[t.ID]:
				w.fail("tree %d was asked for something %d times, and %d outcomes were told", t.ID, asked[t.ID], told[t.ID])
			case t.MadeAt != nil && made[t.ID] != 1+h.wood.cut[t.Path]:
				w.fail("the log says %d times that tree %d was made", made[t.ID], t.ID)
			case t.State == daemon.TreePlanned:
				w.fail("tree %d is still planned", t.ID)
			case t.State == daemon.TreeStanding && !there, t.State == daemon.TreeRemoved && (there || t.KeptRef != "" && !kept):
				w.fail("tree %d is %s, but it stands: %v; kept: %v", t.ID, t.State, there, kept)
			}
		}
	}
}
