package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/understudyd/understudy/cmd/internal/proc"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/worktree"
)

// Merge implements [worktree.Keeper]. git makes the merged files without a work tree (merge-tree), so a conflict leaves everything as it
// was. Then the branch moves, by a fast-forward: in the work tree in which it is checked out, or, if there is none, as a reference that
// still leads to the commit from which the merge was made.
func (k *Keeper) Merge(ctx context.Context, m worktree.Merging) (out worktree.Merged, err error) {
	r, err := k.openTree(ctx, m.Path)
	if err != nil {
		return out, err
	}
	r.hint = m.Dir
	if err := r.nameable(ctx, m.Into); err != nil {
		return out, err
	}
	release, err := k.acquire(ctx, r.common)
	if err != nil {
		return out, err
	}
	defer release()
	tree, err := r.behind(ctx, r.at())
	if err != nil {
		return out, err
	}
	defer tree.close()
	g := merging{repository: r, git: tree.git, m: m, out: &out}
	if out.Refused, err = g.look(ctx); err != nil || out.Refused != "" || out.Already {
		return out, err
	}
	if out.Refused, err = g.unite(ctx); err != nil || out.Refused != "" {
		return out, err
	}
	out.Refused, err = g.move(ctx)
	return out, err
}

// merging is a merge in the making.
type merging struct {
	repository
	git    git // behind the shield
	m      worktree.Merging
	out    *worktree.Merged
	branch string
	old    string // the commit of m.Into before
}

// look finds the commits. It returns why nothing is merged, or "".
func (g *merging) look(ctx context.Context) (refused string, err error) {
	m := g.m
	if g.branch, err = g.git.headBranch(ctx); err != nil {
		return "", err
	}
	if g.out.From, err = g.git.commitOf(ctx, "HEAD"); err != nil {
		return "", err
	}
	if g.old, err = g.git.commitOf(ctx, "refs/heads/"+m.Into); err != nil {
		return "", err
	}
	g.out.Commit = g.old
	switch {
	case g.old == "":
		return fmt.Sprintf("there is no branch %s: name the one to merge into", m.Into), nil
	case g.branch == m.Into:
		return fmt.Sprintf("the tree is on %s itself: name another branch to merge into", m.Into), nil
	case m.Commit != "" && g.out.From != m.Commit:
		if done, err := g.git.contains(ctx, g.old, m.Commit); err != nil || done { // an earlier call was cut off after its effect
			g.out.From, g.out.Already = m.Commit, done
			return "", err
		}
		return "the branch has moved since the merge was asked for: look at the tree, and merge again", nil
	}
	if g.out.Already, err = g.git.contains(ctx, g.old, g.out.From); err != nil || g.out.Already {
		return "", err
	}
	if why := unfinished(g.gitDir); why != "" {
		return "the work tree can't be merged: " + why, nil
	}
	h, err := g.git.held(ctx, m.Copied)
	if err == nil && h.uncommitted.n > 0 {
		refused = "the work tree holds " + h.uncommitted.counted("file") + " not committed" + h.uncommitted.names() + ": commit or put away what is there, and merge again"
	}
	return refused, err
}

// unite makes the commit to which m.Into moves, and sets out.Commit. It returns why there is none, or "".
func (g *merging) unite(ctx context.Context) (refused string, err error) {
	if g.out.FastForward, err = g.git.contains(ctx, g.out.From, g.old); err != nil {
		return "", err
	}
	if g.out.FastForward {
		g.out.Commit = g.out.From
		return "", nil
	}
	stdout := proc.Limited{Max: gitOutput}
	stderr, exit, err := g.git.run(ctx, &stdout, "merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", g.old, g.out.From)
	records := split(stdout.Bytes())
	switch {
	case err != nil:
		return "", err
	case exit == 1 && len(records) > 0:
		g.out.Conflicts = slices.Compact(slices.DeleteFunc(records[1:], func(name string) bool { return name == "" }))
		return g.conflict(), nil
	case exit != 0 && strings.Contains(stderr, "unrelated histories"):
		return fmt.Sprintf("%s and %s have no commit in common: merge them by hand", g.name(), g.m.Into), nil
	case exit == 129: // usage
		return fmt.Sprintf("git could not merge (%s): a merge that is no fast-forward needs git 2.38 or newer", complaint(stderr, exit)), nil
	case exit != 0 || len(records) == 0:
		return fmt.Sprintf("git could not merge (%s): %s", complaint(stderr, exit), g.instead(ctx, "see what `git merge "+g.m.Into+"` says in "+g.dir, g.old, g.out.From)), nil
	}
	who, err := g.identity(ctx)
	if err != nil {
		return err.Error(), nil
	}
	as := g.git
	as.env = append(as.env[:len(as.env):len(as.env)], who...)
	g.out.Commit, err = as.line(ctx, "commit-tree", records[0], "-p", g.old, "-p", g.out.From, "-m", fmt.Sprintf("Merge branch '%s' into %s", g.name(), g.m.Into))
	return "", err
}

func (g *merging) name() string {
	if g.branch == "" {
		return g.out.From[:10]
	}
	return g.branch
}

func (g *merging) conflict() string {
	var files sample
	for _, name := range g.out.Conflicts {
		files.add(name)
	}
	return fmt.Sprintf("both sides have changed %s%s, so nothing was merged: merge %s in the work tree (`git -C %s merge %[3]s`), or ask its agent to, and merge again",
		files.counted("file"), files.names(), g.m.Into, g.dir)
}

// identity returns the variables with which git commits in the person's name, as the repository's settings and theirs say.
func (g *merging) identity(ctx context.Context) (env []string, err error) {
	for _, role := range []string{"AUTHOR", "COMMITTER"} {
		line, err := g.repository.line(ctx, "-c", "user.useConfigOnly=true", "var", "GIT_"+role+"_IDENT")
		name, rest, ok := strings.Cut(line, " <")
		mail, _, found := strings.Cut(rest, "> ")
		if err != nil || !ok || !found {
			return nil, errors.New("git does not know in whose name to commit the merge: run `git config --global user.name NAME` and `git config --global user.email ADDRESS` as the daemon's user")
		}
		env = append(env, "GIT_"+role+"_NAME="+name, "GIT_"+role+"_EMAIL="+mail)
	}
	return env, nil
}

// move moves the branch to out.Commit. It returns why it did not, or "".
func (g *merging) move(ctx context.Context) (refused string, err error) {
	held, err := g.holder(ctx, g.m.Into)
	if err != nil {
		return "", err
	}
	if held == nil {
		stderr, exit, err := g.git.run(ctx, io.Discard, "update-ref", "-m", "merge "+g.name(), "refs/heads/"+g.m.Into, g.out.Commit, g.old)
		if err == nil && exit != 0 {
			refused = fmt.Sprintf("the branch %s has moved meanwhile (%s): merge again", g.m.Into, complaint(stderr, exit))
		}
		return refused, err
	}
	where := held.place
	if held.with != "" {
		return fmt.Sprintf("%s, so git moves it when that ends: finish that there, and merge again", held.says(g.m.Into)), nil
	}
	at := git{env: g.plain, dir: where, limit: checkoutLimit}
	p, _, err := at.find(ctx)
	if err == nil && !sameFolder(p.dir, held.admin) {
		err = fmt.Errorf("git takes it for %s", p.top)
	}
	if err != nil {
		return fmt.Sprintf("%s, and git can't work there (%v): see to that, and merge again", held.says(g.m.Into), err), nil
	}
	if why := unfinished(p.dir); why != "" {
		return fmt.Sprintf("%s, and %s: finish that, and merge again", held.says(g.m.Into), why), nil
	}
	there, err := at.behind(ctx, p)
	if err != nil {
		return "", err
	}
	defer there.close()
	there.through = true
	stderr, exit, err := there.run(context.WithoutCancel(ctx), io.Discard, "-c", "gc.auto=0", "-c", "maintenance.auto=false", "merge", "--ff-only", "--quiet", "--no-verify-signatures", "--no-autostash", g.out.Commit)
	switch {
	case err != nil:
		return "", err
	case exit != 0 && strings.Contains(stderr, "would be overwritten"):
		return fmt.Sprintf("the branch %s is checked out in %s, where files that the merge changes are not committed%s: commit or stash them there, and merge again", g.m.Into, where, overwritten(stderr)), nil
	case exit != 0:
		return fmt.Sprintf("the branch %s is checked out in %s, and git could not merge there (%s): see what `git status` says there, and merge again", g.m.Into, where, complaint(stderr, exit)), nil
	}
	g.out.Where = where
	return "", nil
}

// overwritten names the files that git lists with a tab before each.
func overwritten(stderr string) string {
	var files sample
	for line := range strings.Lines(stderr) {
		if name, ok := strings.CutPrefix(line, "\t"); ok {
			files.add(strings.TrimSuffix(name, "\n"))
		}
	}
	if files.n == 0 {
		return ""
	}
	return files.names()
}

// runner returns what runs a command of git: one that was begun with through goes on to its end if this process is killed.
func (g git) runner() func(context.Context, engine.OneShot, io.Writer) (string, int, error) {
	if g.through {
		return proc.RunOut
	}
	return proc.Run
}
