package agents

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/understudyd/understudy/daemon"
)

// startCheck looks for one thing that would leave a new agent unable to work. next is the row that the agent would have; the
// check changes nothing. The error is a [daemon.Error] whose code names the thing and whose sentence names the fix.
type startCheck func(next *daemon.Agent) error

// preflight reports whether an agent could be started, by the first check that says no. Whoever is about to end an agent so
// that another one goes on with its work asks this first: afterwards nobody would be left who could work.
func preflight(next *daemon.Agent, checks ...startCheck) error {
	for _, check := range checks {
		if err := check(next); err != nil {
			return err
		}
	}
	return nil
}

// CanStart is [preflight] with all checks. An agent of another host is not checked: the daemon there does it.
func CanStart(ctx context.Context, d *Launcher, next *daemon.Agent) error {
	if next.Host != d.Host {
		return nil
	}
	return preflight(next,
		func(next *daemon.Agent) error { return treeStays(ctx, d.Store, next) },
		func(next *daemon.Agent) error { return Enterable(next.Cwd) },
		func(next *daemon.Agent) error { return d.CheckRuntime(next.Runtime) },
		func(next *daemon.Agent) error { return sandboxWorks(ctx, d, next) },
		func(next *daemon.Agent) error { return takesCommandLine(ctx, d, next) },
	)
}

// Enterable refuses a directory in which no program can be started.
func Enterable(dir string) error {
	fi, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return daemon.Errorf(daemon.KindUnprocessable, daemon.CodeBadDirectory, "No agent can be started in %s, because that directory is gone: put it back, then try again", dir)
	case err != nil:
		return daemon.Errorf(daemon.KindUnprocessable, daemon.CodeBadDirectory, "No agent can be started in %s, because the daemon cannot look at it (%s): put that right, then try again", dir, errors.Unwrap(err))
	case !fi.IsDir():
		return daemon.Errorf(daemon.KindUnprocessable, daemon.CodeBadDirectory, "No agent can be started in %s, because that is no directory: put the directory back, then try again", dir)
	}
	const execute = 1
	if err := syscall.Access(dir, execute); err != nil {
		return daemon.Errorf(daemon.KindUnprocessable, daemon.CodeBadDirectory, "No agent can be started in %s, because the daemon may not enter it (%s): allow that (chmod u+x), then try again", dir, err)
	}
	return nil
}

// treeStays refuses a work tree that is not there, or that is being removed. It asks about the tree of the agent's line, and
// about the tree of another line in which the agent would work because its session has moved there.
func treeStays(ctx context.Context, trees daemon.WorktreeReader, next *daemon.Agent) error {
	if next.WorktreeID != nil {
		t, err := trees.Worktree(ctx, *next.WorktreeID)
		if err != nil {
			return err
		}
		if err := Stays(&t); err != nil && Within(next.Cwd, t.Path) {
			return err
		}
	}
	list, err := trees.Worktrees(ctx, daemon.WorktreeFilter{Host: next.Host, There: true, Limit: daemon.MostAgents})
	for i := range list {
		if Within(next.Cwd, list[i].Path) {
			return Stays(&list[i])
		}
	}
	return err
}

// CheckDirectory refuses a path unless it is absolute and leads to a directory on this machine that a program can be started in.
func CheckDirectory(path string) error {
	if !filepath.IsAbs(path) {
		return daemon.Errorf(daemon.KindUnprocessable, daemon.CodeBadDirectory, "cwd must be an absolute path")
	}
	return Enterable(filepath.Clean(path))
}
