package api

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/agents"
	"github.com/understudyd/understudy/daemon/worktree"
	"github.com/understudyd/understudy/daemon/worktrees"
	"github.com/understudyd/understudy/tmux/tmuxtest"
)

// keeper plays git: each tree has one commit, its merge conflicts, and it holds a file that is not committed unless clean is set.
type keeper struct{ clean atomic.Bool }

func (*keeper) Plan(_ context.Context, s worktree.Spec) (worktree.Plan, error) {
	return worktree.Plan{Repository: s.Dir, Workdir: s.Path, NewBranch: true, Base: "main", BaseCommit: strings.Repeat("a", 40), Uncommitted: 1}, nil
}

func (*keeper) Make(_ context.Context, s worktree.Spec) (worktree.Made, error) {
	return worktree.Made{Workdir: s.Path, Copied: []worktree.Copied{{Path: ".env", Files: 1, Bytes: 8, Digest: "d"}}}, os.MkdirAll(s.Path, 0o700)
}

func (k *keeper) Look(context.Context, worktree.Place) worktree.Look {
	l := worktree.Look{Branch: "fix", Commit: strings.Repeat("b", 40), CommitAt: time.Now().UTC(), Ahead: 1, BaseKnown: true, Alone: 1, Bytes: 12}
	if !k.clean.Load() {
		l.Uncommitted, l.UncommittedCount = []string{"notes.txt"}, 1
	}
	return l
}

func (*keeper) Merge(context.Context, worktree.Merging) (worktree.Merged, error) {
	return worktree.Merged{Refused: "both sides have changed 1 file (a)", Conflicts: []string{"a"}}, nil
}

func (k *keeper) Remove(_ context.Context, r worktree.Removal) (worktree.Removed, error) {
	if !r.Force && !k.clean.Load() {
		return worktree.Removed{Kept: "it holds 1 file not committed (notes.txt)", Holds: true}, nil
	}
	return worktree.Removed{Ref: true, BranchDeleted: r.DeleteBranch}, nil
}

// over waits until the task of a tree is over.
func (h *fixture) over(t daemon.Worktree, err error) worktrees.TreeView {
	h.t.Helper()
	must(h.t, err)
	if t.Task == nil {
		h.t.Errorf("the answer has no task: %+v", t)
	}
	var v worktrees.TreeView
	tmuxtest.Eventually(h.t, "the task is over", func() bool {
		v = value(h.client.Worktree(h.t.Context(), t.ID))(h.t)
		return v.Task == nil
	})
	return v
}

// stood commits a standing tree whose agent has ended.
func (h *fixture) stood(dir string) *daemon.Worktree {
	h.t.Helper()
	now := time.Now().UTC()
	tree := &daemon.Worktree{
		ID: value(h.store.NextID(context.Background(), daemon.WorktreeIDs))(h.t), Host: "here", Repository: dir, Path: "/trees/fix", Workdir: "/trees/fix",
		Branch: "fix", NewBranch: true, Base: "main", BaseCommit: strings.Repeat("a", 40), State: daemon.TreeStanding, Copied: []worktree.Copied{}, CreatedAt: now, MadeAt: &now,
	}
	h.commit(&daemon.Change{NewWorktree: tree})
	h.agent(func(a *daemon.Agent) { ended(a); a.WorktreeID, a.Cwd = &tree.ID, tree.Workdir })
	return tree
}

func TestStartInAWorktree(t *testing.T) {
	t.Parallel()
	h, ctx := build(t, func(s *Server) { s.Daemon.Keeper = &keeper{} }), t.Context()
	door, dir := h.mainDoor(), t.TempDir()
	door.do("POST", "/api/agents", fmt.Sprintf(`{"cwd": %q, "name": "x", "worktree": {"branch": "-x"}}`, dir)).wants(t, "a branch that is none", 400, "bad_branch")
	door.do("POST", "/api/agents", fmt.Sprintf(`{"cwd": %q, "name": "x", "worktree": {"path": "/"}}`, dir)).wants(t, "a path", 400, "unknown_field")
	door.do("POST", "/api/agents", fmt.Sprintf(`{"cwd": %q, "name": "x", "worktree": "fix"}`, dir)).wants(t, "a text", 400, "invalid_field")
	door.do("POST", "/api/agents", fmt.Sprintf(`{"cwd": %q, "name": "x", "worktree": {"Branch": "fix"}}`, dir)).wants(t, "a name in another case", 400, "unknown_field")
	a := value(h.client.CreateAgent(ctx, agents.NewAgent{Cwd: dir, Name: "fix it", Worktree: &agents.NewWorktree{}}))(t)
	if a.WorktreeID == nil {
		t.Fatalf("the agent works in %s, in no tree", a.Cwd)
	}
	v := value(h.client.Worktree(ctx, *a.WorktreeID))(t)
	if v.Branch != fmt.Sprintf("fix-it-%d", a.ID) || v.Workdir != a.Cwd || len(v.Agents) != 1 || !strings.Contains(v.Last.Says, "not committed") {
		t.Errorf("the tree: %+v", v)
	}
	stood := h.stood(dir)
	h.agent(func(a *daemon.Agent) { a.WorktreeID, a.Cwd = &stood.ID, stood.Workdir })
	if v := value(h.client.Worktree(ctx, stood.ID))(t); !v.InUse || len(v.Agents) != 2 {
		t.Errorf("a tree with an agent: %+v", v)
	}
	door.do("POST", at("worktrees", stood.ID, "/remove"), `{"force": true}`).wants(t, "an agent works there", 409, "worktree_used")
}

func TestWorktrees(t *testing.T) {
	t.Parallel()
	double := &keeper{}
	h, ctx := build(t, func(s *Server) { s.Daemon.Keeper, s.Daemon.Differ = double, &differ{} }), t.Context()
	door, dir := h.mainDoor(), t.TempDir()
	id := h.stood(dir).ID
	if list := value(h.client.Worktrees(ctx, false))(t); len(list) != 1 || list[0].Look.UncommittedCount != 1 || list[0].InUse {
		t.Errorf("the list: %+v", list)
	}
	door.ok("GET", "/ui/worktrees", "", "1 ahead, 1 uncommitted")
	diff := value(h.client.WorktreeDiff(ctx, id, agents.DiffRequest{Files: []string{"a"}}))(t)
	if diff.AgentName != "fix" || len(diff.Files) != 1 {
		t.Errorf("the diff: %+v", diff)
	}
	door.ok("GET", fmt.Sprintf("/ui/worktrees/%d/diff?file=a", id), "", fmt.Sprintf(`href="/ui/worktrees/%d/diff">All files`, id))

	merge, remove, restore := at("worktrees", id, "/merge"), at("worktrees", id, "/remove"), at("worktrees", id, "/restore")
	door.do("POST", merge, `{}`).wants(t, "with a file that is not committed", 409, "worktree_uncommitted")
	double.clean.Store(true)
	if v := h.over(h.client.MergeWorktree(ctx, id, worktrees.TreeMerging{Into: "main"})); v.Last.Done || len(v.Last.Conflicts) != 1 || v.State != daemon.TreeStanding {
		t.Errorf("the merge: %+v", v.Last)
	}
	double.clean.Store(false)
	door.do("POST", restore, `{}`).wants(t, "a tree that stands", 409, "worktree_stands")
	if v := h.over(h.client.RemoveWorktree(ctx, id, worktrees.TreeRemoval{})); v.Last.Done || v.State != daemon.TreeStanding || !strings.Contains(v.Last.Says, "remove it all the same (--force)") {
		t.Errorf("without force: %+v", v.Last)
	}
	if v := h.over(h.client.RemoveWorktree(ctx, id, worktrees.TreeRemoval{Force: true, KeepBranch: true})); !v.Last.Done || v.State != daemon.TreeRemoved || v.KeptRef == "" || !strings.Contains(v.Last.Says, "the branch fix stays") {
		t.Errorf("with force: %+v", v)
	}
	door.do("POST", remove, `{}`).wants(t, "removed already", 409, "worktree_removed")
	door.do("GET", at("worktrees", id, "/diff"), "").wants(t, "the diff of a removed tree", 409, "worktree_removed")
	if some, all := value(h.client.Worktrees(ctx, false))(t), value(h.client.Worktrees(ctx, true))(t); len(some) != 0 || len(all) != 1 {
		t.Errorf("%d stand, of %d", len(some), len(all))
	}
	if v := h.over(h.client.RestoreWorktree(ctx, id)); !v.Last.Done || v.State != daemon.TreeStanding {
		t.Errorf("brought back: %+v", v)
	}

	for _, c := range []struct{ method, path, body, code string }{
		{"GET", "/api/worktrees?all=yes", "", "invalid_parameter"}, {"GET", "/ui/worktrees?all=yes", "", "invalid_parameter"}, {"GET", "/api/worktrees?limit=0", "", "invalid_parameter"},
		{"GET", at("worktrees", id, "/diff?stat=yes"), "", "invalid_parameter"}, {"GET", at("worktrees", id, "/diff?file=/etc/passwd"), "", "bad_files"},
		{"POST", merge, `{"into": "a..b"}`, "bad_branch"}, {"POST", merge, `{"force": true}`, "unknown_field"}, {"POST", remove, `{"force": 1}`, "invalid_field"},
		{"POST", restore, `{"force": true}`, "unknown_field"},
	} {
		door.do(c.method, c.path, c.body).wants(t, c.method+" "+c.path+" "+c.body, 400, c.code)
	}
	for method, paths := range map[string][]string{"GET": {"", "/diff"}, "POST": {"/merge", "/remove", "/restore"}} {
		for _, path := range paths {
			door.do(method, at("worktrees", 99, path), `{}`).wants(t, "no such tree", 404, "worktree_not_found")
		}
	}
	equal(t, "the page of no tree", door.do("GET", "/ui/worktrees/99/diff", "").status, 404)
}

// TestWorktreeOfAPipeline: it can't be removed while its pipeline works, and nobody adopts one.
func TestWorktreeOfAPipeline(t *testing.T) {
	t.Parallel()
	h, ctx := build(t, func(s *Server) { s.Daemon.Keeper = &keeper{} }), t.Context()
	waits := h.pipeline(func(p *daemon.Pipeline) { p.Host, p.Status = "here", daemon.PipelineWaiting }).ID
	id := value(h.store.NextID(ctx, daemon.WorktreeIDs))(t)
	h.commit(&daemon.Change{NewWorktree: &daemon.Worktree{ID: id, PipelineID: &waits, Host: "here", Path: t.TempDir(), Branch: "roof", State: daemon.TreeStanding, CreatedAt: time.Now()}})
	if list := value(h.client.Worktrees(ctx, false))(t); len(list) != 1 || *list[0].PipelineID != waits || !list[0].InUse {
		t.Errorf("the list: %+v", list)
	}
	h.mainDoor().do("POST", at("worktrees", id, "/remove"), `{"force": true}`).wants(t, "a pipeline at work", 409, "worktree_used")
	h.mainDoor().do("POST", "/api/worktrees", fmt.Sprintf(`{"pipeline_id": %d}`, waits)).wants(t, "no such route", 405, "method_not_allowed")
}

// differ is a repository whose one file has changed, or an error.
type differ struct {
	err error
	got worktree.DiffQuery
}

func (d *differ) Begin(_ context.Context, _ string, now time.Time) (worktree.Base, error) {
	return worktree.Base{At: now, Commit: strings.Repeat("a", 40)}, nil
}

func (d *differ) Diff(_ context.Context, q worktree.DiffQuery) (worktree.Diff, error) {
	d.got = q
	return worktree.Diff{Top: "/src", Commit: strings.Repeat("b", 40), FileCount: 1, Files: []worktree.FileDiff{{
		Path: "a", Status: "modified", Added: 1, Hunks: []worktree.Hunk{{OldStart: 1, NewStart: 1, Lines: []string{"+new"}}},
	}}}, d.err
}

func TestDiff(t *testing.T) {
	t.Parallel()
	double := &differ{}
	h, ctx := build(t, func(s *Server) { s.Daemon.Differ = double }), t.Context()
	base := &worktree.Base{At: time.Now().UTC(), Commit: strings.Repeat("a", 40)}
	in := func(dir string, base *worktree.Base) *daemon.Agent {
		return h.agent(func(a *daemon.Agent) { ended(a); a.Cwd, a.Base = dir, base })
	}
	a := in("/src", base)
	late := h.agent(func(b *daemon.Agent) { b.Cwd, b.Base = "/src/app", base })
	h.agent(func(b *daemon.Agent) { b.Cwd, b.Base = "/srcx", base })

	diff := value(h.client.Diff(ctx, a.ID, agents.DiffRequest{Stat: true, Files: []string{"a", "b c\n"}}))(t)
	if len(diff.Files) != 1 || diff.Files[0].Hunks[0].Lines[0] != "+new" || diff.Directory != "/src" {
		t.Errorf("the diff: %+v", diff)
	}
	if q := double.got; !q.Stat || !slices.Equal(q.Files, []string{"a", "b c\n"}) || q.Dir != "/src" || q.Base.Commit != base.Commit {
		t.Errorf("asked: %+v", q)
	}
	if len(diff.Notes) == 0 || !strings.HasPrefix(diff.Notes[0], fmt.Sprintf("The changes are the directory's, not this agent's alone: 1 other agent worked there too (%d", late.ID)) {
		t.Errorf("the notes: %q", diff.Notes)
	}
	got := h.mainDoor().do("GET", at("agents", a.ID, "/diff"), "")
	if got.status != 200 || double.got.Stat || len(double.got.Files) != 0 {
		t.Errorf("without parameters: %d, asked %+v", got.status, double.got)
	}

	h.mainDoor().ok("GET", fmt.Sprintf("/ui/agents/%d/diff", a.ID), "", `class="new">&#43;new<`)

	for query, code := range map[string]string{"?stat=yes": "invalid_parameter", "?file=/etc/passwd": "bad_files", "?file=a/../../b": "bad_files", "?file=": "bad_files",
		"?file=a&file=%00": "invalid_parameter", "?stat=true&stat=true": "invalid_parameter", "?file=" + strings.Repeat("x", 5000): "bad_files",
		"?" + strings.Repeat("file=a&", 101) + "stat=true": "bad_files"} {
		h.mainDoor().do("GET", at("agents", a.ID, "/diff"+query), "").wants(t, query, 400, code)
	}
	h.mainDoor().do("GET", at("agents", 99999, "/diff"), "").wants(t, "no such agent", 404, "agent_not_found")
	for _, one := range []struct {
		a    *daemon.Agent
		err  error
		code string
	}{
		{in("/src", nil), nil, "base_unknown"},
		{in("/src", &worktree.Base{Problem: "git is slow"}), nil, "base_unknown"},
		{a, worktree.ErrNone, "no_repository"},
		{a, worktree.ErrBaseGone, "base_gone"},
		{a, errors.New("git is slow"), "diff_failed"},
	} {
		double.err = one.err
		h.mainDoor().do("GET", at("agents", one.a.ID, "/diff"), "").wants(t, one.code, 409, one.code)
	}
	foreign := h.agent(func(a *daemon.Agent) { away(a); a.Host, a.Base = "elsewhere", base })
	h.mainDoor().do("GET", at("agents", foreign.ID, "/diff"), "").wants(t, "another host", 409, "other_host")
}
