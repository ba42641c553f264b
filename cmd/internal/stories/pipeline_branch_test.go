package stories

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/cmd/internal/cmdtest"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/pipelines"
)

// roofRepo makes a repository with one commit and a folder in it.
func roofRepo(t *testing.T) cmdtest.Repo {
	g := cmdtest.NewRepo(t)
	g.Write("roof.txt", "a hole\n")
	g.Write("attic/beam.txt", "a beam\n")
	g.Commit(time.Now())
	return g
}

// createOnBranch creates a pipeline on a branch.
func createOnBranch(r *rig, dir, branch, template string) daemon.Pipeline {
	r.t.Helper()
	return createPipeline(r, pipelines.NewPipeline{Template: template, Title: "a test", Prompt: roof, Cwd: dir, Branch: branch})
}

// head is the branch that is checked out in a folder.
func head(r *rig, dir string) string {
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
		held, release := holdingStep(r, "developer")
		writeTemplate(r, "held", held, "reviewer")
		r.start()
		one, two := createOnBranch(r, g.Dir, "roof/one", "held"), createOnBranch(r, filepath.Join(g.Dir, "attic"), "two", "held")
		for _, p := range []daemon.Pipeline{one, two} {
			a := awaitWorkingAgent(r, p.ID, 1)
			p = getPipeline(r, p.ID)
			if len(p.Warnings) != 0 || p.Worktree == nil {
				t.Fatalf("pipeline %d has the work tree %v and is warned %q", p.ID, p.Worktree, p.Warnings)
			}
			want := *p.Worktree
			if p.ID == two.ID {
				want = filepath.Join(want, "attic")
			}
			if cwd := workingDir(r, a.ID); cwd != want || a.Cwd != want {
				t.Errorf("agent %d works in %s, its row says %s; want %s", a.ID, cwd, a.Cwd, want)
			}
			if got := head(r, *p.Worktree); got != *p.Branch {
				t.Errorf("the work tree is on %s, want %s", got, *p.Branch)
			}
			writeFile(r, filepath.Join(*p.Worktree, "new.txt"), "mended\n")
		}
		kept := *getPipeline(r, two.ID).Worktree
		gone := cmdtest.RepoAt(t, *getPipeline(r, one.ID).Worktree)
		gone.Git("add", "-A")
		gone.Git("commit", "-q", "-m", "mended")
		release()
		one, two = awaitPipeline(r, one.ID, daemon.PipelineDone), awaitPipeline(r, two.ID, daemon.PipelineDone)
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
		wantPipelineEvents(r, one.ID, "worktree_removed", 1)
		wantPipelineEvents(r, two.ID, "worktree_kept", 1)
	})
}

// TestResumeMakesARemovedWorkTreeAgain: A person removed the work tree meanwhile.
func TestResumeMakesARemovedWorkTreeAgain(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		g := roofRepo(t)
		held, release := holdingStep(r, "reviewer")
		writeTemplate(r, "held", "developer", held)
		r.start()
		id := createOnBranch(r, g.Dir, "roof", "held").ID
		before := awaitWorkingAgent(r, id, 2)
		tree := said(abortPipeline(r, id, "done failed").Worktree)
		r.awaitState(before.ID, daemon.Ended)
		g.Git("worktree", "remove", "--force", tree)
		resumePipeline(r, id, false)
		if after := awaitWorkingAgent(r, id, 2); after.Cwd != before.Cwd || head(r, tree) != "roof" {
			t.Errorf("agent %d works in %s on %s", after.ID, after.Cwd, head(r, tree))
		}
		release()
		awaitPipeline(r, id, daemon.PipelineDone)
	})
}

// TestBranchWithoutRepositoryFailsThePipeline: It fails before its first step, with a sentence that names the fix.
// Once that is done, a resume goes on.
func TestBranchWithoutRepositoryFailsThePipeline(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		writeTemplate(r, "one", "developer")
		r.start()
		g := cmdtest.RepoAt(t, t.TempDir())
		id := createOnBranch(r, g.Dir, "roof", "one").ID
		p := awaitPipeline(r, id, daemon.PipelineFailed)
		wantSteps(r, p, "pending")
		want := fmt.Sprintf("The work tree of branch roof could not be made: %s is in no git work tree: run `git init` there, or leave out the branch", g.Dir)
		if said(p.Error) != want || p.Worktree != nil || p.CurrentAgentID != nil {
			t.Errorf("pipeline failed with %q, want %q", said(p.Error), want)
		}
		if got := awaitPipelineTold(r, id, "pipeline_failed", 1); !strings.Contains(got, want) || !strings.Contains(got, fmt.Sprintf("understudy pipeline resume %d", id)) {
			t.Errorf("the operator was told %q", got)
		}
		g.Git("init", "-q")
		g.Write("roof.txt", "a hole\n")
		g.Commit(time.Now())
		resumePipeline(r, id, false)
		p = awaitPipeline(r, id, daemon.PipelineDone)
		if !strings.Contains(r.getAgent(p.Steps[0].AgentIDs[0]).Cwd, "worktree") {
			t.Errorf("the agent worked in %s", r.getAgent(p.Steps[0].AgentIDs[0]).Cwd)
		}
	})
}
