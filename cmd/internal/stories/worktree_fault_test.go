package stories

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/worktree"
	"github.com/understudyd/understudy/daemon/worktrees"
)

// bentKeeper calls before ahead of each removal, and returns the error of after in place of its result.
type bentKeeper struct {
	worktree.Keeper
	before func(context.Context)
	after  func() error
}

func (k *bentKeeper) Remove(ctx context.Context, in worktree.Removal) (out worktree.Removed, err error) {
	if k.before != nil {
		k.before(ctx)
	}
	if k.after == nil {
		return k.Keeper.Remove(ctx, in)
	}
	if err = k.after(); !errors.Is(err, errNothingDone) {
		out, _ = k.Keeper.Remove(ctx, in)
	}
	return out, err
}

var errNothingDone = errors.New("the disk is full")

// removable starts a daemon with the keeper, and an agent in a tree, and ends the agent.
func (r *rig) removable(k *bentKeeper) (daemon.Agent, worktrees.TreeView) {
	r.t.Helper()
	g := mainRepo(r.t.(*testing.T))
	r.around(func(cfg *engine.Config) { k.Keeper, cfg.Keeper = cfg.Keeper, k })
	r.start()
	a, v := r.startInTree(g.Dir, "fix")
	r.doTurn(a.ID, "Look at the roof")
	r.stopAndAwait(a.ID)
	return a, v
}

// TestRemovalAfterAnAgentHasCome: a removal that was asked while nobody was in the tree is not done once an agent works there.
func TestRemovalAfterAnAgentHasCome(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		g := mainRepo(t)
		r.start()
		a, v := r.startInTree(g.Dir, "fix")
		store := r.database()
		row, err := store.Worktree(t.Context(), v.ID)
		if err != nil {
			t.Fatal(err)
		}
		row.Task = &daemon.TreeTask{Do: daemon.TreeRemove, Force: true, At: time.Now()}
		if err := store.Commit(t.Context(), &daemon.Change{Worktrees: []*daemon.Worktree{&row}}); err != nil {
			t.Fatal(err)
		}
		if out := r.treeDone(row, nil); out.Done || !strings.Contains(out.Says, fmt.Sprintf("Agent %d (%s) works in work tree %d", a.ID, con, v.ID)) {
			t.Errorf("the removal: %+v", out)
		}
		if _, err := os.Stat(v.Path); err != nil {
			t.Error(err)
		}
	})
}

// TestNobodyIsStartedInATreeThatGoes: the session of an agent is not opened again while its tree is being removed, and afterwards only
// when the tree is back. The refusals say how it comes back.
func TestNobodyIsStartedInATreeThatGoes(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		entered, release := make(chan struct{}), make(chan struct{})
		k := &bentKeeper{before: func(ctx context.Context) {
			close(entered)
			select {
			case <-release:
			case <-ctx.Done():
			}
		}}
		a, v := r.removable(k)
		if _, err := r.client.RemoveWorktree(t.Context(), v.ID, worktrees.TreeRemoval{}); err != nil {
			t.Fatal(err)
		}
		<-entered
		restore := fmt.Sprintf("understudy worktree restore %d", v.ID)
		_, err := r.client.ResumeAgent(t.Context(), a.ID)
		wantRefused(t, err, daemon.CodeWorktreeBusy, restore)
		close(release)
		r.await("the removal", func() (bool, string) {
			_, err := os.Stat(v.Path)
			return os.IsNotExist(err), ""
		})
		r.await("its outcome", func() (bool, string) {
			_, err = r.client.ResumeAgent(t.Context(), a.ID)
			return err != nil && strings.Contains(err.Error(), "was removed"), fmt.Sprint(err)
		})
		wantRefused(t, err, daemon.CodeWorktreeRemoved, restore)
	})
}

// TestRemovalThatFailsAfterItsEffect is tried again, and says what it has done.
func TestRemovalThatFailsAfterItsEffect(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		tries := 0
		k := &bentKeeper{after: func() error {
			if tries++; tries > 4 {
				return nil
			}
			return errors.New("git was too slow")
		}}
		_, v := r.removable(k)
		if out := r.removeTree(v.ID, worktrees.TreeRemoval{}); !out.Done || !strings.Contains(out.Says, fmt.Sprintf("understudy worktree restore %d", v.ID)) || tries != 5 {
			t.Errorf("after %d tries: %+v", tries, out)
		}
	})
}

// TestRemovalThatFails says why the tree stays.
func TestRemovalThatFails(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		tries := 0
		k := &bentKeeper{after: func() error { tries++; return errNothingDone }}
		_, v := r.removable(k)
		out := r.removeTree(v.ID, worktrees.TreeRemoval{})
		if want := fmt.Sprintf("Work tree %d stays: the disk is full.", v.ID); out.Done || out.Says != want || tries != 3 {
			t.Errorf("after %d tries: %+v, want %q", tries, out, want)
		}
		if _, err := os.Stat(v.Path); err != nil {
			t.Error(err)
		}
	})
}
