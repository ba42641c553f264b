// Package git asks git about the directories that agents work in, and makes and removes the work trees of pipelines. It
// runs the git command behind a shield: no setting, hook or filter of the repository can make git run a program
// (docs/adr/0023). Its functions are safe for concurrent use. If a crash leaves a work tree half made or half deleted,
// the next call for its path deletes the rest.
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
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/runtimes/catalog"
	"github.com/understudyd/understudy/daemon/worktree"
)

const (
	gitLimit  = 2 * time.Second // one run of git
	gitOutput = 4 << 20         // bytes that one run may print where all output is kept
)

// git runs the git command in a folder.
type git struct {
	dir   string
	env   []string
	limit time.Duration // of one run; 0 means gitLimit
	// through lets a command go on to its end if this process is killed.
	through bool
	asSet   bool // without [safely]: for commands that only read settings
	alone   bool // keep the user's settings only as far as they are harmless, like those of the repository
}

// gitEnv returns an environment for git without variables that point git to another place or let it write, ask or fetch.
func gitEnv(environ []string) []string {
	env := slices.DeleteFunc(catalog.StripEnv(environ), func(kv string) bool {
		return strings.HasPrefix(kv, "GIT_") || strings.HasPrefix(kv, "LC_ALL=") || strings.HasPrefix(kv, "LANGUAGE=")
	})
	return append(env, "LC_ALL=C", // this package reads git's messages
		"GIT_OPTIONAL_LOCKS=0", // otherwise status writes the index while an agent uses it
		"GIT_TERMINAL_PROMPT=0",
		"GIT_NO_LAZY_FETCH=1",     // otherwise a partial clone fetches by a command that the repository chooses
		"GIT_ALLOW_PROTOCOL=none", // the same for older versions of git, which do not know GIT_NO_LAZY_FETCH
	)
}

// safely are the options before each command. The user's configuration may name programs that only people need. Also,
// until there is a [shield], git reads the repository's configuration. Of the programs that our commands would run,
// these options switch off file monitors and hooks. Options of the commands themselves switch off diff programs and
// signature checks.
var safely = []string{"--no-pager", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null",
	"-c", "diff.orderFile=/dev/null"} // with a path that does not exist even status fails

// output runs git and returns what git prints. An error is a sentence for people, or [worktree.ErrNone].
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

// run runs git within its time limit. If stdout returns an error, run ends git and returns that error.
func (g git) run(ctx context.Context, stdout io.Writer, args ...string) (stderr string, exit int, err error) {
	limit := cmp.Or(g.limit, gitLimit)
	slow := fmt.Errorf("git %s took more than %s in %s: see why `git status` is slow there", args[0], limit, g.dir)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, slow)
	defer cancel()
	options := safely
	if g.asSet {
		options = nil
	}
	argv := slices.Concat([]string{"git"}, options, args)
	stderr, exit, err = g.runner()(ctx, engine.OneShot{Argv: argv, Dir: g.dir, Env: g.env}, stdout)
	if errors.Is(err, proc.ErrTooMuch) {
		err = fmt.Errorf("git %s in %s: %w: put what is generated there into .gitignore", args[0], g.dir, err)
	}
	return stderr, exit, err
}

// refused makes an error from what git printed on stderr.
func (g git) refused(command, stderr string, exit int) error {
	line := complaint(stderr, exit)
	switch {
	case strings.Contains(stderr, "not a git repository"), strings.Contains(stderr, "must be run in a work tree"),
		strings.Contains(stderr, "cannot use bare repository"):
		return worktree.ErrNone
	case strings.Contains(stderr, "dubious ownership"):
		dir := g.dir
		if _, rest, ok := strings.Cut(stderr, "repository at '"); ok {
			dir, _, _ = strings.Cut(rest, "'\n")
			dir = strings.TrimSuffix(strings.TrimSpace(dir), "'")
		}
		return fmt.Errorf("git does not trust %s, which belongs to another user: run `git config --global --add safe.directory %[1]s` as the daemon's user", dir)
	}
	return fmt.Errorf("git %s failed in %s (%s): see what `git %[1]s` says there", command, g.dir, line)
}

// line runs a command of git that prints one line or nothing, and returns the line.
func (g git) line(ctx context.Context, args ...string) (string, error) {
	out, err := g.output(ctx, args...)
	return strings.TrimSuffix(string(out), "\n"), err
}

// answer runs a command of git that prints its answer in one line, or ends with 1 if the answer is no or none.
func (g git) answer(ctx context.Context, args ...string) (line string, yes bool, err error) {
	out := proc.Limited{Max: gitOutput}
	stderr, exit, err := g.run(ctx, &out, args...)
	if err == nil && exit > 1 && !strings.Contains(stderr, "eeded a single revision") {
		err = g.refused(args[0], stderr, exit)
	}
	if err != nil || exit != 0 {
		return "", false, err
	}
	return strings.TrimSuffix(string(out.Bytes()), "\n"), true, nil
}

// headBranch returns the branch that is checked out, or "" if HEAD is a commit.
func (g git) headBranch(ctx context.Context) (string, error) {
	ref, _, err := g.answer(ctx, "symbolic-ref", "--quiet", "HEAD")
	return strings.TrimPrefix(ref, "refs/heads/"), err
}

// commitOf returns the id of a commit; "": there is none of that name.
func (g git) commitOf(ctx context.Context, name string) (string, error) {
	commit, _, err := g.answer(ctx, "rev-parse", "--quiet", "--verify", name+"^{commit}")
	return commit, err
}

// contains reports whether a commit leads to another one.
func (g git) contains(ctx context.Context, commit, other string) (bool, error) {
	_, yes, err := g.answer(ctx, "merge-base", "--is-ancestor", other, commit)
	return yes, err
}

// The limits of what each reads, in bytes: in all, and of one record. It keeps one record at a time.
const (
	maxRecords = 32 << 20
	maxRecord  = 1 << 20
)

// each runs a command of git with -z, and calls do with each record that is not empty.
func (g git) each(ctx context.Context, do func(record string), args ...string) error {
	stderr, exit, err := g.run(ctx, &records{do: do}, args...)
	if err == nil && exit != 0 {
		err = g.refused(args[0], stderr, exit)
	}
	return err
}

// records takes the output of git with -z and calls do with each record.
type records struct {
	do   func(string)
	read int
	part []byte // the beginning of a record whose end is not written yet
}

func (r *records) Write(p []byte) (int, error) {
	n := len(p)
	if r.read += n; r.read > maxRecords || len(r.part) > maxRecord {
		return 0, proc.ErrTooMuch
	}
	for {
		if len(r.part) == 0 { // git separates groups of records by an empty one
			p = bytes.TrimLeft(p, "\x00")
		}
		record, rest, whole := bytes.Cut(p, []byte{0})
		r.part = append(r.part, record...)
		if !whole {
			return n, nil
		}
		if len(r.part) > 0 {
			r.do(string(r.part))
		}
		r.part, p = r.part[:0], rest
	}
}

// split returns the records that git prints with -z.
func split(out []byte) []string {
	if len(out) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
}
