package stories

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/understudyd/understudy/cmd/internal/cmdtest"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/worktree"
)

// TestPipelinesBeyondTheLimitWaitInOrder: Five pipelines are created at once, and the limit is two. The other three
// wait, and begin in the order of their creation.
func TestPipelinesBeyondTheLimitWaitInOrder(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.limitPipelines(2)
		held, release := r.holdingStep("developer")
		r.writeTemplate("held", held, "reviewer")
		r.start()
		ids := make([]int64, 5)
		var wg sync.WaitGroup
		for i := range ids {
			wg.Go(func() { ids[i] = r.startPipeline("held", roof).ID })
		}
		wg.Wait()
		slices.Sort(ids)
		var waited []int64
		for _, id := range ids {
			if p := r.getPipeline(id); p.Status != daemon.PipelineRunning {
				r.wantWaitsForRoom(p)
				waited = append(waited, id)
			}
		}
		if len(waited) != 3 {
			t.Errorf("pipelines %v wait, want 3 of 5", waited)
		}
		store := r.database()
		release()
		r.await("all pipelines done", func() (bool, string) {
			runs, err := store.Pipelines(t.Context(), daemon.PipelineFilter{Status: daemon.PipelineRunning})
			agents, err2 := store.Agents(t.Context(), daemon.AgentFilter{Active: true})
			if err != nil || err2 != nil || len(runs) > 2 || len(agents) > 2 {
				t.Fatalf("%d pipelines and %d agents at work at once, at most 2 may (%v %v)\n%s", len(runs), len(agents), err, err2, r.report())
			}
			done := len(r.eventsWhere(func(e event.Event) bool { return e.Type == "pipeline_done" }))
			return done == 5, fmt.Sprintf("%d done", done)
		})
		r.wantAtMostLive(2)
		var last time.Time
		for _, id := range waited {
			p := r.getPipeline(id)
			if p.StartedAt.Before(last) || p.Note != "" {
				t.Errorf("pipeline %d of %v began at %s, before its turn; its note is %q", id, waited, p.StartedAt, p.Note)
			}
			last = *p.StartedAt
			r.wantPipelineEvents(id, "pipeline_running", 1)
		}
	})
}

// TestAbortMakesRoomForAWaitingPipeline: A pipeline that is aborted while it waits delays no other one. One that is
// aborted at work makes room.
func TestAbortMakesRoomForAWaitingPipeline(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.limitPipelines(1)
		held, release := r.holdingStep("developer")
		r.writeTemplate("held", held)
		r.start()
		first, second, third := r.startPipeline("held", roof).ID, r.startPipeline("held", roof).ID, r.startPipeline("held", roof).ID
		r.awaitWorkingAgent(first, 1)
		r.abortPipeline(second, "pending")
		r.abortPipeline(first, "failed")
		r.awaitWorkingAgent(third, 1)
		// A resumed pipeline waits like any other.
		p := r.resumePipeline(second, false)
		r.wantWaitsForRoom(p)
		if p.Error != nil || p.FinishedAt != nil {
			t.Errorf("resumed, the pipeline still has %q, %v", said(p.Error), p.FinishedAt)
		}
		r.wantWaitsForRoom(r.resumePipeline(first, false))
		release()
		for _, id := range []int64{first, second, third} {
			r.awaitPipeline(id, daemon.PipelineDone)
		}
		r.wantAtMostLive(1)
		if a, b := r.pipelineEvents(first, "pipeline_done")[0], r.pipelineEvents(second, "step_running")[0]; a.ID > b.ID {
			t.Errorf("the second pipeline began before the first, which is older, was done")
		}
	})
}

func TestEndingAgentStillTakesUpRoom(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.limitPipelines(1)
		r.writeTemplate("one", "developer")
		r.misbehave("exit-delay=700ms")
		r.start()
		first, second := r.startPipeline("one", roof).ID, r.startPipeline("one", roof).ID
		r.awaitPipeline(first, daemon.PipelineDone)
		r.awaitPipeline(second, daemon.PipelineDone)
		r.wantAtMostLive(1)
	})
}

// TestPipelineInASharedDirectoryIsWarned: The operator is told as well.
func TestPipelineInASharedDirectoryIsWarned(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		held, release := r.holdingStep("developer")
		r.writeTemplate("held", held)
		r.start()
		first := r.startPipeline("held", roof)
		if len(first.Warnings) != 0 {
			t.Errorf("the first pipeline is warned: %q", first.Warnings)
		}
		link := filepath.Join(filepath.Dir(r.root), "link")
		if err := os.Symlink(r.work, link); err != nil {
			t.Fatal(err)
		}
		open := []int64{first.ID}
		for _, dir := range []string{r.work, r.work + "/.", link} {
			p := r.createPipeline(daemon.NewPipeline{Template: "held", Title: "a test", Prompt: roof, Cwd: dir})
			if len(p.Warnings) != 1 {
				t.Fatalf("in %s the pipeline is warned %q, want one sentence", dir, p.Warnings)
			}
			for _, id := range open {
				if !strings.Contains(p.Warnings[0], fmt.Sprint(id)) {
					t.Errorf("%q does not name the pipeline %d", p.Warnings[0], id)
				}
			}
			if got := r.awaitPipelineTold(p.ID, "pipeline_warning", 1); !strings.Contains(got, p.Warnings[0]) {
				t.Errorf("the operator was told %q, want %q", got, p.Warnings[0])
			}
			open = append(open, p.ID)
		}
		elsewhere := filepath.Join(r.work, "elsewhere")
		if err := os.Mkdir(elsewhere, 0o700); err != nil {
			t.Fatal(err)
		}
		if p := r.createPipeline(daemon.NewPipeline{Template: "held", Title: "a test", Prompt: roof, Cwd: elsewhere}); len(p.Warnings) != 0 {
			t.Errorf("elsewhere the pipeline is warned: %q", p.Warnings)
		} else {
			open = append(open, p.ID)
		}
		release()
		for _, id := range open {
			r.awaitPipeline(id, daemon.PipelineDone)
		}
		if p := r.startPipeline("held", roof); len(p.Warnings) != 0 {
			t.Errorf("when all have ended the pipeline is warned: %q", p.Warnings)
		}
	})
}

// roofRepo makes a repository with one commit and a folder in it.
func roofRepo(t *testing.T) cmdtest.Repo {
	g := cmdtest.NewRepo(t)
	g.Write("roof.txt", "a hole\n")
	g.Write("attic/beam.txt", "a beam\n")
	g.Commit(time.Now())
	return g
}

// createOnBranch creates a pipeline on a branch.
func (r *rig) createOnBranch(dir, branch, template string) daemon.Pipeline {
	r.t.Helper()
	return r.createPipeline(daemon.NewPipeline{Template: template, Title: "a test", Prompt: roof, Cwd: dir, Branch: branch})
}

// head is the branch that is checked out in a folder.
func (r *rig) head(dir string) string {
	r.t.Helper()
	_, gitDir, ok := strings.Cut(strings.TrimSpace(r.readFile(filepath.Join(dir, ".git"))), "gitdir: ")
	if !ok {
		r.t.Fatalf("%s is no work tree", dir)
	}
	return strings.TrimSpace(strings.TrimPrefix(r.readFile(filepath.Join(gitDir, "HEAD")), "ref: refs/heads/"))
}

// TestPipelineOnABranchHasItsOwnWorkTree: The agents of a pipeline work in its own work tree. When the pipeline ends,
// a work tree without uncommitted changes is removed. The branch stays.
func TestPipelineOnABranchHasItsOwnWorkTree(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		g := roofRepo(t)
		held, release := r.holdingStep("developer")
		r.writeTemplate("held", held, "reviewer")
		r.start()
		one, two := r.createOnBranch(g.Dir, "roof/one", "held"), r.createOnBranch(filepath.Join(g.Dir, "attic"), "two", "held")
		for _, p := range []daemon.Pipeline{one, two} {
			a := r.awaitWorkingAgent(p.ID, 1)
			p = r.getPipeline(p.ID)
			if len(p.Warnings) != 0 || p.Worktree == nil {
				t.Fatalf("pipeline %d has the work tree %v and is warned %q", p.ID, p.Worktree, p.Warnings)
			}
			want := *p.Worktree
			if p.ID == two.ID {
				want = filepath.Join(want, "attic")
			}
			if cwd := r.workingDir(a.ID); cwd != want || a.Cwd != want {
				t.Errorf("agent %d works in %s, its row says %s; want %s", a.ID, cwd, a.Cwd, want)
			}
			if got := r.head(*p.Worktree); got != *p.Branch {
				t.Errorf("the work tree is on %s, want %s", got, *p.Branch)
			}
			r.writeFile(filepath.Join(*p.Worktree, "new.txt"), "mended\n")
		}
		kept := *r.getPipeline(two.ID).Worktree
		gone := cmdtest.RepoAt(t, *r.getPipeline(one.ID).Worktree)
		gone.Git("add", "-A")
		gone.Git("commit", "-q", "-m", "mended")
		release()
		one, two = r.awaitPipeline(one.ID, daemon.PipelineDone), r.awaitPipeline(two.ID, daemon.PipelineDone)
		wantNoFile(t, gone.Dir)
		g.Git("cat-file", "-e", "roof/one:new.txt")
		if one.Worktree != nil || len(one.Warnings) != 0 {
			t.Errorf("the pipeline still has the work tree %s and is warned %q", said(one.Worktree), one.Warnings)
		}
		if r.readFile(filepath.Join(kept, "new.txt")) != "mended\n" || said(two.Worktree) != kept {
			t.Errorf("the work tree with what is not committed is %s, want %s", said(two.Worktree), kept)
		}
		if len(two.Warnings) != 1 || !strings.Contains(two.Warnings[0], kept) || !strings.Contains(two.Warnings[0], "new.txt") {
			t.Errorf("the pipeline is warned %q, want one sentence with %s and new.txt", two.Warnings, kept)
		}
		r.wantPipelineEvents(one.ID, "pipeline_worktree_removed", 1)
		r.wantPipelineEvents(two.ID, "pipeline_worktree_kept", 1)
	})
}

// TestResumeGoesOnInTheWorkTree: The work tree of a failed pipeline stays, and a resume goes on in it.
func TestResumeGoesOnInTheWorkTree(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		g := roofRepo(t)
		held, release := r.holdingStep("reviewer")
		r.writeTemplate("held", "developer", held)
		r.start()
		id := r.createOnBranch(g.Dir, "roof", "held").ID
		before := r.awaitWorkingAgent(id, 2)
		p := r.abortPipeline(id, "done failed")
		tree := said(p.Worktree)
		r.awaitState(before.ID, daemon.Ended)
		if got := r.head(tree); got != "roof" {
			t.Errorf("after the failure the work tree is on %s", got)
		}
		r.resumePipeline(id, false)
		if after := r.awaitWorkingAgent(id, 2); after.Cwd != before.Cwd || after.ID == before.ID {
			t.Errorf("agent %d in %s after agent %d in %s, want another one there", after.ID, after.Cwd, before.ID, before.Cwd)
		}
		release()
		p = r.awaitPipeline(id, daemon.PipelineDone)
		wantNoFile(t, tree)
		r.wantPipelineEvents(id, "pipeline_worktree_created", 1)
	})
}

// TestResumeMakesARemovedWorkTreeAgain: A person removed the work tree meanwhile.
func TestResumeMakesARemovedWorkTreeAgain(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		g := roofRepo(t)
		held, release := r.holdingStep("reviewer")
		r.writeTemplate("held", "developer", held)
		r.start()
		id := r.createOnBranch(g.Dir, "roof", "held").ID
		before := r.awaitWorkingAgent(id, 2)
		tree := said(r.abortPipeline(id, "done failed").Worktree)
		r.awaitState(before.ID, daemon.Ended)
		g.Git("worktree", "remove", "--force", tree)
		r.resumePipeline(id, false)
		if after := r.awaitWorkingAgent(id, 2); after.Cwd != before.Cwd || r.head(tree) != "roof" {
			t.Errorf("agent %d works in %s on %s", after.ID, after.Cwd, r.head(tree))
		}
		release()
		r.awaitPipeline(id, daemon.PipelineDone)
	})
}

// TestBranchWithoutRepositoryFailsThePipeline: It fails before its first step, with a sentence that names the fix.
// Once that is done, a resume goes on.
func TestBranchWithoutRepositoryFailsThePipeline(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.writeTemplate("one", "developer")
		r.start()
		g := cmdtest.RepoAt(t, t.TempDir())
		id := r.createOnBranch(g.Dir, "roof", "one").ID
		p := r.awaitPipeline(id, daemon.PipelineFailed)
		r.wantSteps(p, "pending")
		want := fmt.Sprintf("The work tree of branch roof could not be made: %s is in no git work tree: run `git init` there, or leave out the branch", g.Dir)
		if said(p.Error) != want || p.Worktree != nil || p.CurrentAgentID != nil {
			t.Errorf("pipeline failed with %q, want %q", said(p.Error), want)
		}
		if got := r.awaitPipelineTold(id, "pipeline_failed", 1); !strings.Contains(got, want) || !strings.Contains(got, fmt.Sprintf("understudy pipeline resume %d", id)) {
			t.Errorf("the operator was told %q", got)
		}
		g.Git("init", "-q")
		g.Write("roof.txt", "a hole\n")
		g.Commit(time.Now())
		r.resumePipeline(id, false)
		p = r.awaitPipeline(id, daemon.PipelineDone)
		if !strings.Contains(r.getAgent(p.Steps[0].AgentIDs[0]).Cwd, "worktree") {
			t.Errorf("the agent worked in %s", r.getAgent(p.Steps[0].AgentIDs[0]).Cwd)
		}
	})
}

// gatedTrees makes work trees only when a test lets it.
type gatedTrees struct {
	worktree.Trees
	g *gate
}

func (t *gatedTrees) Add(ctx context.Context, dir, branch, path string) (string, error) {
	workdir, err := t.Trees.Add(ctx, dir, branch, path)
	t.g.pass()
	return workdir, err
}

// TestAbortRemovesAWorkTreeInTheMaking: The pipeline is aborted while its work tree is being made. The work tree is
// removed, and the branch is free for another pipeline.
func TestAbortRemovesAWorkTreeInTheMaking(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		g, made := roofRepo(t), newGate(t)
		r.cfg.Around = func(cfg daemon.Config) daemon.Config {
			cfg.Trees = &gatedTrees{Trees: cfg.Trees, g: made}
			return cfg
		}
		r.writeTemplate("one", "developer")
		r.start()
		first := r.createOnBranch(g.Dir, "roof", "one").ID
		made.await(t)
		r.abortPipeline(first, "pending")
		made.goOn()
		r.await("work tree gone", func() (bool, string) {
			_, err := os.Lstat(r.dir.Worktree(first))
			return os.IsNotExist(err), r.dir.Worktree(first)
		})
		r.awaitPipeline(r.createOnBranch(g.Dir, "roof", "one").ID, daemon.PipelineDone)
		r.resumePipeline(first, false)
		r.awaitPipeline(first, daemon.PipelineDone)
	})
}
