// Package git asks git about the directories that agents work in, and makes and removes the work trees of pipelines. It
// runs the git command behind a shield: no setting, hook or filter of the repository may have it run a program
// (docs/adr/0023). Its functions are safe for concurrent use; what a crash leaves half made, the next call clears.
package git

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/understudyd/understudy/cmd/internal/proc"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/worktree"
)

const (
	gitLimit  = 2 * time.Second // one run of git
	gitOutput = 4 << 20         // bytes that one run may print, where all of it is kept
)

// git runs the git command in a folder.
type git struct {
	dir   string
	env   []string
	limit time.Duration // of one run; 0: gitLimit
}

// gitEnv is an environ for git: nothing that points it elsewhere or lets it write, ask or fetch.
func gitEnv(environ []string) []string {
	env := slices.DeleteFunc(runtimes.StripEnv(environ), func(kv string) bool {
		return strings.HasPrefix(kv, "GIT_") || strings.HasPrefix(kv, "LC_ALL=") || strings.HasPrefix(kv, "LANGUAGE=")
	})
	return append(env, "LC_ALL=C", // its messages are read
		"GIT_OPTIONAL_LOCKS=0", // status would write the index, under the hands of an agent that uses git
		"GIT_TERMINAL_PROMPT=0",
		"GIT_NO_LAZY_FETCH=1",     // of a partial clone, by a command of the repository's choice
		"GIT_ALLOW_PROTOCOL=none", // the same, for a git that does not know the variable before
	)
}

// safely are the options before the command. The user's own configuration may name programs for people that need
// not run for us, and before a [shield] is there the repository's is read, too. Of what our commands would run, file
// monitor and hooks are switched off here, the diff programs and signature checks by the commands' own options.
var safely = []string{"--no-pager", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null",
	"-c", "diff.orderFile=/dev/null"} // one that is not there fails even status

// output runs git and returns what it prints. An error is a sentence for people, or
// daemon.ErrNoWorktree.
func (g git) output(ctx context.Context, args ...string) ([]byte, error) {
	out := proc.Limited{Max: gitOutput}
	stderr, exit, err := g.run(ctx, &out, args...)
	if err != nil {
		return nil, err
	}
	if exit != 0 {
		return nil, g.refused(args[0], stderr, exit)
	}
	return out.Bytes(), nil
}

// run runs git for as long as its limit allows. stdout may end it by an error, which is returned.
func (g git) run(ctx context.Context, stdout io.Writer, args ...string) (stderr string, exit int, err error) {
	limit := cmp.Or(g.limit, gitLimit)
	slow := fmt.Errorf("git %s took more than %s in %s: see why `git status` is slow there", args[0], limit, g.dir)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, slow)
	defer cancel()
	argv := slices.Concat([]string{"git"}, safely, args)
	stderr, exit, err = proc.Run(ctx, daemon.OneShot{Argv: argv, Dir: g.dir, Env: g.env}, stdout)
	if errors.Is(err, proc.ErrTooMuch) {
		err = fmt.Errorf("git %s in %s: %w: put what is generated there into .gitignore", args[0], g.dir, err)
	}
	return stderr, exit, err
}

// refused turns git's complaint into an error.
func (g git) refused(command, stderr string, exit int) error {
	line, _, _ := strings.Cut(strings.TrimSpace(stderr), "\n")
	switch {
	case strings.Contains(stderr, "not a git repository"), strings.Contains(stderr, "must be run in a work tree"),
		strings.Contains(stderr, "cannot use bare repository"):
		return worktree.ErrNone
	case strings.Contains(stderr, "dubious ownership"):
		dir := g.dir
		if _, rest, ok := strings.Cut(line, "repository at '"); ok {
			dir = strings.TrimSuffix(rest, "'")
		}
		return fmt.Errorf("git does not trust %s, which belongs to another user: run `git config --global --add safe.directory %[1]s` as the daemon's user", dir)
	case line == "":
		line = fmt.Sprintf("exit code %d", exit)
	}
	return fmt.Errorf("git %s failed in %s (%s): see what `git %[1]s` says there", command, g.dir, line)
}

// line is what git prints, which is one line or nothing.
func (g git) line(ctx context.Context, args ...string) (string, error) {
	out, err := g.output(ctx, args...)
	return strings.TrimSuffix(string(out), "\n"), err
}

// headBranch is the branch that is checked out; "" if none is.
func (g git) headBranch(ctx context.Context) (string, error) {
	out := proc.Limited{Max: gitOutput}
	stderr, exit, err := g.run(ctx, &out, "symbolic-ref", "--quiet", "HEAD")
	switch {
	case err != nil:
		return "", err
	case exit > 1: // 1: HEAD is a commit
		return "", g.refused("symbolic-ref", stderr, exit)
	}
	return strings.TrimPrefix(strings.TrimSuffix(string(out.Bytes()), "\n"), "refs/heads/"), nil
}

// commit reports whether there is a commit of that name.
func (g git) commit(ctx context.Context, name string) (bool, error) {
	stderr, exit, err := g.run(ctx, io.Discard, "rev-parse", "--quiet", "--verify", name+"^{commit}")
	if err == nil && exit > 1 {
		err = g.refused("rev-parse", stderr, exit)
	}
	return exit == 0, err
}

// each runs git with -z and calls do with each record.
func (g git) each(ctx context.Context, do func(record string), args ...string) error {
	stderr, exit, err := g.run(ctx, &records{do: do}, args...)
	if err == nil && exit != 0 {
		err = g.refused(args[0], stderr, exit)
	}
	return err
}

// records calls do with each record of git's -z that is written to it.
type records struct {
	do   func(string)
	part []byte // of the record that is not whole yet
}

func (r *records) Write(p []byte) (int, error) {
	n := len(p)
	for {
		record, rest, whole := bytes.Cut(p, []byte{0})
		r.part = append(r.part, record...)
		if !whole {
			return n, nil
		}
		r.do(string(r.part))
		r.part, p = r.part[:0], rest
	}
}

// split returns the records of git's -z.
func split(out []byte) []string {
	if len(out) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
}
