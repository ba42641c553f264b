package git

import (
	"context"
	"errors"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/cmd/internal/cmdtest"
	"github.com/understudyd/understudy/daemon/worktree"
	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

// repo is a git repository of a test.
type repo struct{ cmdtest.Repo }

func newRepo(t testing.TB) repo { return repo{cmdtest.NewRepo(t)} }

// repoAt is a folder, in which there may be a repository.
func repoAt(t testing.TB, dir string) repo { return repo{cmdtest.RepoAt(t, dir)} }

// commits writes a file and commits it, with all else that has changed.
func (r repo) commits(name, text string) {
	r.T.Helper()
	r.Write(name, text)
	r.Commit(time.Now())
}

// configure adds settings to the repository's own, all at once.
func (r repo) configure(settings map[string]string) {
	r.T.Helper()
	text := ""
	for key, value := range settings {
		section, rest, _ := strings.Cut(key, ".")
		if i := strings.LastIndex(rest, "."); i >= 0 {
			section, rest = section+" "+strconv.Quote(rest[:i]), rest[i+1:]
		}
		text += "[" + section + "]\n\t" + rest + " = " + strconv.Quote(value) + "\n"
	}
	f, err := os.OpenFile(r.Dir+"/.git/config", os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString(text)
		err = errors.Join(err, f.Close())
	}
	must(r.T, err)
}

// holds compares the text of a file.
func (r repo) holds(name, want string) {
	r.T.Helper()
	equal(r.T, name+" holds", string(value(os.ReadFile(r.Dir+"/"+name))(r.T)), want)
}

// trees makes and removes trees of which no more than the branch and the path matters.
type trees struct{ k *Keeper }

func newTrees(environ []string) trees { return trees{NewKeeper(environ)} }

func (t trees) Add(ctx context.Context, dir, branch, path string) (workdir string, err error) {
	m, err := t.k.Make(ctx, worktree.Spec{Dir: dir, Branch: branch, Path: path})
	return m.Workdir, err
}

func (t trees) Remove(ctx context.Context, dir, path string) (kept string, err error) {
	out, err := t.k.Remove(ctx, worktree.Removal{Place: worktree.Place{Path: path}, Dir: dir, Ref: "refs/understudy/removed/1"})
	return out.Kept, err
}

func (t trees) Discard(ctx context.Context, dir, path string) error {
	out, err := t.k.Remove(ctx, worktree.Removal{Place: worktree.Place{Path: path}, Dir: dir, Discard: true})
	if err == nil && out.Kept != "" {
		err = errors.New(path + " stays: " + out.Kept)
	}
	return err
}

var must, equal, wantErr, holds = wardentest.Must, wardentest.Equal, wardentest.WantErr, wardentest.Holds

func value[T any](v T, err error) func(testing.TB) T { return wardentest.Value(v, err) }

func failed[T any](v T, err error) func(testing.TB, string, ...any) { return wardentest.Failed(v, err) }
