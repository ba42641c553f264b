package api

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/agents"
	"github.com/understudyd/understudy/daemon/worktree"
)

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

	diff := must(h.client.Diff(ctx, a.ID, agents.DiffRequest{Stat: true, Files: []string{"a", "b c\n"}}))(t)
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

	if page := h.mainDoor().do("GET", fmt.Sprintf("/ui/agents/%d/diff", a.ID), ""); page.status != 200 || !strings.Contains(string(page.body), `class="new">&#43;new<`) {
		t.Errorf("the page: %d %s", page.status, page.body)
	}

	for query, code := range map[string]string{"?stat=yes": "invalid_parameter", "?file=/etc/passwd": "bad_files", "?file=a/../../b": "bad_files", "?file=": "bad_files",
		"?file=a&file=%00": "invalid_parameter", "?stat=true&stat=true": "invalid_parameter", "?file=" + strings.Repeat("x", 5000): "bad_files",
		"?" + strings.Repeat("file=a&", 101) + "stat=true": "bad_files"} {
		h.mainDoor().do("GET", at("agents", a.ID, "/diff"+query), "").wants(t, query, 400, code)
	}
	h.mainDoor().do("GET", at("agents", 99999, "/diff"), "").wants(t, "no such agent", 404, "agent_not_found")
	h.hookDoor().do("GET", at("agents", a.ID, "/diff"), "").wants(t, "an agent asks", 404, "not_found")
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
