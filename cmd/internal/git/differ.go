package git

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/understudyd/understudy/cmd/internal/proc"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/worktree"
)

// Differ implements [worktree.Differ]. git works behind a shield and without the user's configuration, because a
// repository's attributes could choose one of the user's filters.
type Differ struct{ env []string }

// NewDiffer returns a Differ. git runs with an environment made from environ.
func NewDiffer(environ []string) Differ { return Differ{gitEnv(environ)} }

// beginTime is how long Begin may take. An agent is started meanwhile.
const beginTime = 2 * time.Second

// Begin implements [worktree.Differ].
func (d Differ) Begin(ctx context.Context, dir string, now time.Time) (worktree.Base, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, beginTime, fmt.Errorf("git took more than %s in %s: see why `git status` is slow there", beginTime, dir))
	defer cancel()
	base := worktree.Base{At: now}
	g, err := d.in(ctx, dir)
	if err != nil {
		return base, err
	}
	defer g.close()
	if base.Commit, err = g.commitOf(ctx, "HEAD"); err != nil {
		return base, err
	}
	if base.Branch, err = g.headBranch(ctx); err != nil {
		return base, err
	}
	changes, _, left, err := g.changes(ctx)
	if err != nil {
		return base, err
	}
	for path := range changes {
		base.Before = append(base.Before, path)
	}
	slices.Sort(base.Before)
	base.BeforeCount = len(base.Before) + left
	base.Before = base.Before[:min(len(base.Before), worktree.MaxBefore)]
	return base, nil
}

// in returns git for the work tree that holds dir, behind a shield that the caller must close.
func (d Differ) in(ctx context.Context, dir string) (s shield, err error) {
	if err := askable(dir, d.env); err != nil {
		return s, err
	}
	g := git{env: d.env, dir: dir, limit: worktree.DiffTime, alone: true}
	if s, err = g.shielded(ctx); err != nil {
		return s, err
	}
	s.env = append(s.env, "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_NO_REPLACE_OBJECTS=1",
		"GIT_LITERAL_PATHSPECS=1", "GIT_CONFIG_COUNT=2", "GIT_CONFIG_KEY_0=core.quotePath", "GIT_CONFIG_VALUE_0=true",
		"GIT_CONFIG_KEY_1=core.bigFileThreshold", "GIT_CONFIG_VALUE_1="+strconv.Itoa(worktree.MaxFileSize))
	return s, err
}

// Diff implements [worktree.Differ].
func (d Differ) Diff(ctx context.Context, q worktree.DiffQuery) (out worktree.Diff, err error) {
	slow := fmt.Errorf("git took more than %s in %s: name the files that you want to see", worktree.DiffTime, q.Dir)
	ctx, cancel := context.WithTimeoutCause(ctx, worktree.DiffTime, slow)
	defer cancel()
	g, err := d.in(ctx, q.Dir)
	if err != nil {
		return out, err
	}
	defer g.close()
	c := comparison{git: g.git, q: q, out: &out, files: map[string]*worktree.FileDiff{}}
	out.Top = g.dir
	if err := c.begin(ctx); err != nil {
		return out, err
	}
	if err := c.list(ctx); err != nil {
		return out, err
	}
	if err := c.untracked(ctx); err != nil {
		return out, err
	}
	if err := c.sizes(ctx); err != nil {
		return out, err
	}
	c.readUntracked(ctx)
	if !q.Stat {
		if err = c.hunks(ctx); errors.Is(err, slow) {
			c.leaveOut(slow.Error())
			err = nil
		}
	}
	c.finish()
	return out, err
}

// comparison is one diff in the making.
type comparison struct {
	git
	q     worktree.DiffQuery
	out   *worktree.Diff
	from  string                        // the tree or commit to compare with
	files map[string]*worktree.FileDiff // by path
	old   map[string]string             // the old objects of binary files, by path
	left  []string                      // what is left out
}

func (c *comparison) leaveOut(what string) {
	if !slices.Contains(c.left, what) {
		c.left = append(c.left, what)
	}
}

// begin finds the commits to compare.
func (c *comparison) begin(ctx context.Context) (err error) {
	base := c.q.Base.Commit
	if base != "" && !fullHash().MatchString(base) {
		return worktree.ErrBaseGone
	}
	if c.out.Commit, err = c.commitOf(ctx, "HEAD"); err != nil {
		return err
	}
	if c.out.Branch, err = c.headBranch(ctx); err != nil {
		return err
	}
	if base == "" {
		c.from, err = c.line(ctx, "hash-object", "-t", "tree", "/dev/null")
		return err
	}
	c.from = base
	if is, err := c.commitOf(ctx, base); err != nil || is == "" {
		return cmp.Or(err, worktree.ErrBaseGone)
	}
	if c.out.Commit == "" {
		c.out.Rewritten = true
		return nil
	}
	kept, err := c.contains(ctx, c.out.Commit, base)
	c.out.Rewritten = !kept
	return err
}

// safeDiff are the options of every diff. They switch off what could run a program or change how the output is read.
var safeDiff = []string{"--no-ext-diff", "--no-textconv", "--no-color", "--no-relative", "--ignore-submodules=all", "--find-renames", "-l400",
	"--no-abbrev"}

// diff returns the arguments of a diff of the work tree against the base.
func (c *comparison) diff(options ...string) []string {
	return slices.Concat([]string{"diff"}, options, safeDiff, []string{c.from, "--"}, c.q.Files)
}

// enter notes a changed file. It keeps the first files only, in the order in which git lists them.
func (c *comparison) enter(f worktree.FileDiff) *worktree.FileDiff {
	if known := c.files[f.Path]; known != nil { // taken out of the index, and still there
		known.Note = "no longer tracked, and still there"
		return nil
	}
	c.out.FileCount++
	if len(c.files) >= worktree.MaxFiles {
		return nil
	}
	c.files[f.Path] = &f
	return &f
}

// list lists the changed files that are tracked, with their counts.
func (c *comparison) list(ctx context.Context) error {
	l := lister{c: c, counts: numstat{do: c.counted}}
	c.old = map[string]string{}
	return c.each(ctx, l.take, c.diff("--raw", "--numstat", "-z")...)
}

// lister reads the records of a diff with --raw, --numstat and -z.
type lister struct {
	c      *comparison
	header []string // of the entry whose paths follow; nil: none
	paths  []string // of the entry, as far as they are read
	counts numstat
}

func (l *lister) take(record string) {
	switch {
	case l.header != nil:
		l.paths = append(l.paths, record)
		if renames := strings.ContainsAny(l.header[4][:1], "RC"); !renames || len(l.paths) == 2 {
			l.raw()
		}
	case strings.HasPrefix(record, ":") && l.counts.follows == 0:
		if f := strings.Fields(record[1:]); len(f) == 5 {
			l.header = f
		}
	default:
		l.counts.take(record)
	}
}

var statuses = map[byte]string{'A': "added", 'C': "added", 'D': "deleted", 'R': "renamed"}

func (l *lister) raw() {
	f := worktree.FileDiff{Path: l.paths[len(l.paths)-1], Status: cmp.Or(statuses[l.header[4][0]], "modified")}
	if f.Status == "renamed" {
		f.OldPath = l.paths[0]
	}
	if from, to := l.header[0], l.header[1]; from != to && from != "000000" && to != "000000" {
		f.Note = "mode " + from + " → " + to
	}
	if kept := l.c.enter(f); kept != nil {
		l.c.old[kept.Path] = l.header[2]
	}
	l.header, l.paths = nil, nil
}

func (c *comparison) counted(path, added, deleted string) {
	file := c.files[path]
	if file == nil {
		return
	}
	if added == "-" {
		file.Binary = true
		return
	}
	file.Added, _ = strconv.Atoi(added)
	file.Deleted, _ = strconv.Atoi(deleted)
}

// sizes enters the sizes of binary files.
func (c *comparison) sizes(ctx context.Context) error {
	var asked []*worktree.FileDiff
	var objects strings.Builder
	for path, f := range c.files {
		if !f.Binary || f.Status == "untracked" {
			continue
		}
		if fi, err := os.Lstat(filepath.Join(c.out.Top, path)); err == nil && f.Status != "deleted" {
			size := fi.Size()
			f.Size = &size
		}
		if id := c.old[path]; strings.Trim(id, "0") != "" {
			asked = append(asked, f)
			objects.WriteString(id + "\n")
		}
	}
	if len(asked) == 0 {
		return nil
	}
	out := proc.Limited{Max: gitOutput}
	argv := slices.Concat([]string{"git"}, safely, []string{"cat-file", "--batch-check=%(objectsize)"})
	stderr, exit, err := proc.Run(ctx, engine.OneShot{Argv: argv, Dir: c.dir, Env: c.env, Stdin: []byte(objects.String())}, &out)
	if err == nil && exit != 0 {
		err = c.refused("cat-file", stderr, exit)
	}
	for i, line := range bytes.Split(out.Bytes(), []byte("\n")) {
		if size, err := strconv.ParseInt(string(line), 10, 64); err == nil && i < len(asked) {
			asked[i].OldSize = &size
		}
	}
	return err
}

// finish sorts the files and adds up their counts.
func (c *comparison) finish() {
	before := c.q.Base.Before
	for _, f := range c.files {
		f.Before = c.q.Base.BeforeCount > 0 && slices.ContainsFunc(before, func(path string) bool {
			return path == f.Path || path == f.OldPath || strings.HasSuffix(path, "/") && strings.HasPrefix(f.Path, path)
		})
		c.out.Added, c.out.Deleted = c.out.Added+f.Added, c.out.Deleted+f.Deleted
		if f.Hunks == nil {
			f.Hunks = []worktree.Hunk{}
		}
		c.out.Files = append(c.out.Files, *f)
	}
	slices.SortFunc(c.out.Files, func(a, b worktree.FileDiff) int { return cmp.Compare(a.Path, b.Path) })
	if c.out.FileCount > len(c.files) {
		c.leaveOut(fmt.Sprintf("only %d of %d changed files are listed", len(c.files), c.out.FileCount))
	}
	c.out.Incomplete = strings.Join(c.left, "; ")
}
