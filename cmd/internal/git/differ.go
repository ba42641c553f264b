package git

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/understudyd/understudy/cmd/internal/child"
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
	if base.Commit, err = g.head(ctx); err != nil {
		return base, err
	}
	if base.Branch, err = g.headBranch(ctx); err != nil {
		return base, err
	}
	changes, _, left, err := g.countChanges(ctx)
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
	if _, err := child.LookPath("git", d.env); err != nil {
		return s, worktree.ErrNone
	}
	if fi, err := os.Stat(dir); err != nil || !fi.IsDir() {
		return s, fmt.Errorf("the working directory %s is gone: make it again", dir)
	}
	if outside(dir) {
		return s, worktree.ErrNone
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

// head returns the commit of HEAD, or "" before the first commit.
func (g git) head(ctx context.Context) (string, error) {
	out := proc.Limited{Max: gitOutput}
	stderr, exit, err := g.run(ctx, &out, "rev-parse", "--quiet", "--verify", "HEAD^{commit}")
	if err == nil && exit > 1 {
		err = g.refused("rev-parse", stderr, exit)
	}
	if err != nil || exit != 0 {
		return "", err
	}
	return strings.TrimSpace(string(out.Bytes())), nil
}

// objectID matches what Begin has recorded, so that nothing else gets into a command line.
var objectID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:[0-9a-f]{40}|[0-9a-f]{64})$`) })

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
	if base != "" && !objectID().MatchString(base) {
		return worktree.ErrBaseGone
	}
	if c.out.Commit, err = c.head(ctx); err != nil {
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
	if ok, err := c.commit(ctx, base); err != nil || !ok {
		return cmp.Or(err, worktree.ErrBaseGone)
	}
	if c.out.Commit == "" {
		c.out.Rewritten = true
		return nil
	}
	_, exit, err := c.run(ctx, io.Discard, "merge-base", "--is-ancestor", base, c.out.Commit)
	c.out.Rewritten = exit == 1
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
	l := lister{c: c}
	c.old = map[string]string{}
	return c.each(ctx, l.take, c.diff("--raw", "--numstat", "-z")...)
}

// lister reads the records of a diff with --raw, --numstat and -z.
type lister struct {
	c      *comparison
	header []string // of the entry whose paths follow; nil: none
	count  []string // the counts of a renamed file whose paths follow; nil: none
	paths  []string // of the entry, as far as they are read
}

func (l *lister) take(record string) {
	switch {
	case l.header != nil:
		l.paths = append(l.paths, record)
		if renames := strings.ContainsAny(l.header[4][:1], "RC"); !renames || len(l.paths) == 2 {
			l.raw()
		}
	case l.count != nil:
		l.paths = append(l.paths, record)
		if len(l.paths) == 2 {
			l.counted(l.count, l.paths[1])
			l.count, l.paths = nil, nil
		}
	case strings.HasPrefix(record, ":"):
		if f := strings.Fields(record[1:]); len(f) == 5 {
			l.header = f
		}
	default:
		f := strings.SplitN(record, "\t", 3)
		switch {
		case len(f) < 3:
		case f[2] == "":
			l.count = f
		default:
			l.counted(f, f[2])
		}
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

func (l *lister) counted(f []string, path string) {
	file := l.c.files[path]
	if file == nil {
		return
	}
	if f[0] == "-" {
		file.Binary = true
		return
	}
	file.Added, _ = strconv.Atoi(f[0])
	file.Deleted, _ = strconv.Atoi(f[1])
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
