package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/understudyd/understudy/daemon/worktree"
)

// Pushing is a push that a person has asked for in their terminal.
type Pushing struct {
	Path    string // of the work tree
	Remote  string // its name; "": origin, or the only one
	Environ []string
	Stdin   io.Reader
	Stdout  io.Writer
	Stderr  io.Writer
}

// Pushed is what was pushed.
type Pushed struct {
	Branch  string `json:"branch"`
	Remote  string `json:"remote"`
	Address string `json:"address"`
	Note    string `json:"note"` // what was not run; "": nothing
}

// Push pushes the branch of a work tree to the branch of the same name. git works with the person's own settings, credentials and
// terminal, behind a shield: of the repository's settings only the address counts, so no agent can choose a program that is run with the
// person's rights. before is told the address before git is started.
func Push(ctx context.Context, p Pushing, before func(Pushed)) (out Pushed, err error) {
	find := git{env: gitEnv(p.Environ), dir: p.Path, limit: treeLimit}
	at, _, err := find.find(ctx)
	if errors.Is(err, worktree.ErrNone) {
		err = fmt.Errorf("%s is no git work tree: if its repository was moved, run `git worktree repair %[1]s` in its new place, and try again", p.Path)
	}
	if err != nil {
		return out, err
	}
	find = find.named(at)
	if out.Branch, err = find.headBranch(ctx); err != nil {
		return out, err
	}
	if out.Branch == "" {
		return out, fmt.Errorf("no branch is checked out in %s: run `git switch -c NAME` there", p.Path)
	}
	if err := find.remote(ctx, p.Remote, at.common, &out); err != nil {
		return out, err
	}
	s, err := find.behind(ctx, at)
	if err != nil {
		return out, err
	}
	defer s.close()
	if _, err := os.Lstat(filepath.Join(at.common, "hooks", "pre-push")); err == nil {
		out.Note = "the repository's hook pre-push was not run"
	}
	args := []string{"-c", "core.fsmonitor=false"}
	if hooks, err := s.hooksOfRepository(ctx, p.Environ); err != nil {
		return out, err
	} else if hooks != "" {
		args = append(args, "-c", "core.hooksPath=/dev/null")
		out.Note = strings.TrimPrefix(out.Note+"; the hooks in "+hooks+", to which your core.hooksPath leads, were not run", "; ")
	}
	args = append(args, "-c", "remote.understudy.url="+out.Address,
		"-c", "remote.understudy.fetch=+refs/heads/*:refs/remotes/"+out.Remote+"/*", "push", "--recurse-submodules=no")
	if filepath.IsAbs(out.Address) || strings.HasPrefix(out.Address, "file://") {
		// Its settings and hooks are another repository's, to which an agent may have made the address lead.
		args = append(args, "--receive-pack=git -c core.hooksPath=/dev/null -c core.alternateRefsCommand=true -c receive.autogc=false -c receive.denyCurrentBranch=refuse receive-pack")
		out.Note = strings.TrimPrefix(out.Note+"; the hooks of "+out.Address+" were not run", "; ")
	}
	before(out)
	cmd := exec.CommandContext(ctx, "git", append(args, "understudy", "refs/heads/"+out.Branch+":refs/heads/"+out.Branch)...)
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = at.top, p.Stdin, p.Stdout, p.Stderr
	cmd.Env = append(personsEnv(p.Environ), place{at.top, at.dir, s.folder}.env()...)
	cmd.Env = append(cmd.Env, "GIT_ALLOW_PROTOCOL=http:https:ssh:file")
	if err := cmd.Run(); err != nil {
		return out, fmt.Errorf("git could not push %s to %s (%w): see what it says above", out.Branch, out.Address, err)
	}
	return out, nil
}

// hooksOfRepository returns the folder of hooks to which the person's own setting core.hooksPath leads, if it is in the work tree or in the
// repository: a relative path is. Agents write what is there.
func (s shield) hooksOfRepository(ctx context.Context, environ []string) (string, error) {
	g := git{env: append(personsEnv(environ), place{s.at.top, s.at.dir, s.folder}.env()...), dir: s.dir, limit: treeLimit, asSet: true}
	path, _, err := g.answer(ctx, "config", "--type=path", "--get", "core.hooksPath")
	if err != nil || path == "" {
		return "", err
	}
	path = realPath(from(s.dir, path))
	for _, ours := range []string{s.at.top, s.at.common, strings.TrimSuffix(s.at.common, "/.git")} {
		if rel, err := filepath.Rel(realPath(ours), path); err == nil && filepath.IsLocal(rel) {
			return path, nil
		}
	}
	return "", nil
}

// personsEnv is an environment without the variables that point git to another repository or give it settings.
func personsEnv(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		keeps := name == "GIT_CONFIG_GLOBAL" || name == "GIT_CONFIG_SYSTEM" || name == "GIT_CONFIG_NOSYSTEM"
		points := []string{"GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_NAMESPACE", "GIT_ALLOW_PROTOCOL",
			"GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_GRAFT_FILE", "GIT_SHALLOW_FILE", "GIT_REPLACE_REF_BASE", "GIT_PREFIX", "GIT_ATTR_SOURCE", "GIT_INTERNAL_SUPER_PREFIX"}
		return strings.HasPrefix(name, "GIT_CONFIG") && !keeps || slices.Contains(points, name)
	})
}

// address matches where a push may go: https://…, ssh://…, file://…, host:path, or an absolute path. git would run a program for most
// other addresses.
var address = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:(?:https?|ssh|file)://[^\s-]\S*|/[^\n]*|(?:[\w.~-]+@)?[A-Za-z0-9][\w.-]*:[^:\s-]\S*)$`)
})

// remote finds the remote and its address.
func (g git) remote(ctx context.Context, name, common string, out *Pushed) error {
	addresses := map[string]string{}
	all, err := g.output(ctx, "config", "--includes", "--get-regexp", "-z", `^remote\..*\.(push)?url$`)
	if err != nil && !strings.Contains(err.Error(), "exit code 1") {
		return err
	}
	for _, record := range split(all) {
		key, value, _ := strings.Cut(record, "\n")
		key = strings.TrimPrefix(key, "remote.")
		if of, ok := strings.CutSuffix(key, ".pushurl"); ok {
			addresses[of] = value
		} else if of := strings.TrimSuffix(key, ".url"); addresses[of] == "" {
			addresses[of] = value
		}
	}
	out.Remote = name
	if _, ok := addresses["origin"]; name == "" && (ok || len(addresses) != 1) {
		out.Remote = "origin"
	}
	for of := range addresses {
		if out.Remote == "" {
			out.Remote = of
		}
	}
	to, ok := addresses[out.Remote]
	switch {
	case !ok:
		return fmt.Errorf("the repository has no remote %q: add it with `git remote add`, or name another one with --remote", out.Remote)
	case !worktree.ValidBranch(out.Remote):
		return fmt.Errorf("the remote %q has a name that is not used here: push with `git push`", out.Remote)
	case strings.HasPrefix(to, "./") || strings.HasPrefix(to, "../"):
		to = filepath.Join(filepath.Dir(common), to)
	}
	if !address().MatchString(to) {
		return fmt.Errorf("the remote %s has the address %q, for which git would run a program: push with `git push` if you trust it", out.Remote, to)
	}
	out.Address = to
	return nil
}
