package agents

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/words"
	"github.com/understudyd/understudy/daemon/worktree"
)

// DiffRequest asks what has changed in an agent's working directory since the agent began.
type DiffRequest struct {
	Files []string // only these files and folders, by their paths from the top of the work tree; none: all
	Stat  bool     // without hunks
}

// AgentDiff is what has changed in an agent's working directory. It belongs to the directory: whoever worked there meanwhile
// has a part in it.
type AgentDiff struct {
	AgentID   int64         `json:"agent_id"`
	AgentName string        `json:"agent_name"`
	Directory string        `json:"directory"`
	Base      worktree.Base `json:"base"`
	At        time.Time     `json:"at"`    // when the directory was looked at
	Ended     *time.Time    `json:"ended"` // when the agent ended
	Notes     []string      `json:"notes"` // sentences: what the diff does not say by itself
	worktree.Diff
}

// Title says in one line what has changed since when. It may hold what others wrote.
func (d *AgentDiff) Title() string {
	who := fmt.Sprintf("agent %d (%s)", d.AgentID, d.AgentName)
	if d.AgentID == 0 {
		who = "branch " + d.AgentName
	}
	return fmt.Sprintf("%s changed, +%d -%d, since %s began at %s", words.Count(d.FileCount, "file"), d.Added, d.Deleted, who,
		cmp.Or(Short(d.Base.Commit), "no commit"))
}

// noteBase records the state of an agent's directory in the agent's row, which the caller commits. It does so once.
func (d *Launcher) noteBase(ctx context.Context, a *daemon.Agent) {
	if d.Differ == nil || a.Base != nil {
		return
	}
	base, err := d.Differ.Begin(ctx, a.Cwd, d.Now())
	if made, ok := worktree.MadeSince(a.Cwd, a.CreatedAt); err == nil && ok && a.StartCwd != "" {
		// The session has moved into it, maybe a turn ago: all that has changed in it since is the agent's.
		base.Commit, base.Before, base.BeforeCount = made, nil, 0
	}
	switch {
	case ctx.Err() != nil:
		return // the next daemon records it
	case errors.Is(err, worktree.ErrNone):
		base.Problem = noRepository
	case err != nil:
		base.Problem = words.TrimDot(err.Error())
	}
	a.FindBase(&base)
}

const noRepository = "the directory was in no git repository then"

// KeepBase records the state of the directory of an agent that a person has started, or that was started by an older daemon.
func (d *Launcher) KeepBase(ctx context.Context, a *daemon.Agent) (bool, time.Duration, error) {
	if d.Differ == nil || a.Base != nil {
		return false, 0, nil
	}
	if d.noteBase(ctx, a); a.Base == nil {
		return false, 0, context.Cause(ctx)
	}
	return true, 0, d.Commit(ctx, &daemon.Change{Agents: []*daemon.Agent{a}})
}

// AgentDiff compares an agent's working directory with the state in which the agent found it. It takes up to
// [worktree.DiffTime]. At most maxDiffs run at once; others wait, and are refused when that takes too long.
func (d *Launcher) AgentDiff(ctx context.Context, id int64, in DiffRequest) (out AgentDiff, err error) {
	a, err := d.Agent(ctx, id)
	if err != nil {
		return out, err
	}
	if err := CheckDiffFiles(in.Files); err != nil {
		return out, err
	}
	if err := d.RequireThisHost(a.Host); err != nil {
		return out, err
	}
	switch {
	case d.Differ == nil || a.Base != nil && a.Base.Problem == noRepository:
		return out, daemon.Errorf(daemon.KindConflict, daemon.CodeNoRepository, "The directory %s was in no git repository when agent %d began, so what has changed is not known", a.Cwd, id)
	case a.Base == nil:
		return out, daemon.Errorf(daemon.KindConflict, daemon.CodeBaseUnknown, "It was not recorded how agent %d found its directory: it began before this version, or it is being started", id)
	case a.Base.Problem != "":
		return out, daemon.Errorf(daemon.KindConflict, daemon.CodeBaseUnknown, "It could not be recorded how agent %d found its directory: %s", id, a.Base.Problem)
	}
	out = AgentDiff{AgentID: id, AgentName: a.Name, Directory: a.Cwd, Base: *a.Base, Ended: a.EndedAt}
	if err := d.Diff(ctx, in, &out); err != nil {
		return out, err
	}
	others, err := d.sharers(ctx, &a)
	out.Notes = diffNotes(&a, &out, others)
	return out, err
}

// Diff compares out.Directory with out.Base.
func (d *Launcher) Diff(ctx context.Context, in DiffRequest, out *AgentDiff) (err error) {
	wait, cancel := context.WithTimeout(ctx, worktree.DiffTime)
	defer cancel()
	select {
	case d.diffs <- struct{}{}:
		defer func() { <-d.diffs }()
	case <-wait.Done():
		return daemon.Errorf(daemon.KindUnavailable, daemon.CodeDiffBusy, "Other diffs are being made: try again")
	}
	out.At = d.Now()
	out.Diff, err = d.Differ.Diff(ctx, worktree.DiffQuery{Dir: out.Directory, Base: out.Base, Files: in.Files, Stat: in.Stat})
	switch {
	case errors.Is(err, worktree.ErrNone):
		return daemon.Errorf(daemon.KindConflict, daemon.CodeNoRepository, "The directory %s is in no git repository any more", out.Directory)
	case errors.Is(err, worktree.ErrBaseGone):
		return daemon.Errorf(daemon.KindConflict, daemon.CodeBaseGone, "Commit %s, at which the work began, is gone from the repository: its history was rewritten and cleaned up", Short(out.Base.Commit))
	case err != nil && ctx.Err() == nil:
		return daemon.Errorf(daemon.KindConflict, daemon.CodeDiffFailed, "%s", words.Capital(words.TrimDot(err.Error())))
	case err != nil:
		return err
	}
	if out.Base.Before == nil {
		out.Base.Before = []string{}
	}
	if out.Files == nil {
		out.Files = []worktree.FileDiff{}
	}
	return nil
}

// maxDiffs is how many diffs are made at once.
const maxDiffs = 2

// CheckDiffFiles refuses names that are not paths from the top of a work tree.
func CheckDiffFiles(files []string) error {
	if len(files) > worktree.MaxPaths {
		return daemon.Errorf(daemon.KindInvalid, daemon.CodeBadFiles, "A diff is made of %d files at most", worktree.MaxPaths)
	}
	for _, f := range files {
		outside := strings.HasPrefix(f, "/") || slices.Contains(strings.Split(f, "/"), "..")
		if f == "" || outside || strings.ContainsRune(f, 0) || len(f) > worktree.MaxPathBytes {
			return daemon.Errorf(daemon.KindInvalid, daemon.CodeBadFiles, "A file must be named by its path from the top of the work tree")
		}
	}
	return nil
}

// sharers returns the agents that have worked in an agent's work tree since the agent began, the newest first.
func (d *Launcher) sharers(ctx context.Context, a *daemon.Agent) (found []int64, err error) {
	list, err := d.Store.Agents(ctx, daemon.AgentFilter{Limit: 500})
	for i := range list {
		b := &list[i]
		meanwhile := b.Active() || b.EndedAt.After(a.Base.At)
		if b.ID != a.ID && b.Host == a.Host && meanwhile && (Within(b.Cwd, a.Cwd) || Within(a.Cwd, b.Cwd)) {
			found = append(found, b.ID)
		}
	}
	return found, err
}

// Short returns the first ten digits of a commit.
func Short(commit string) string { return commit[:min(len(commit), 10)] }

// diffNotes says what the diff does not say by itself.
func diffNotes(a *daemon.Agent, d *AgentDiff, others []int64) []string {
	notes := []string{}
	if len(others) > 0 {
		var names []string
		for _, id := range others[:min(len(others), 5)] {
			names = append(names, OptionalID(&id))
		}
		notes = append(notes, "The changes are the directory's, not this agent's alone: "+words.Count(len(others), "other agent")+" worked there too ("+words.List(names, len(others))+").")
	}
	if a.EndedAt != nil {
		notes = append(notes, "The agent has ended: what was changed after its end is shown too.")
	}
	if late := d.Base.At.Sub(a.CreatedAt); late > time.Minute {
		notes = append(notes, "The changes count from "+words.Age(late)+" after its beginning, when its directory was first looked at.")
	}
	if d.Rewritten {
		notes = append(notes, "The history was rewritten, or another branch was checked out: the commit at which the agent began is not in the history of HEAD, so the changes of others may be shown too.")
	}
	if n := d.Base.BeforeCount; n > 0 {
		notes = append(notes, words.Capital(words.Count(n, "file")+" differed from the commit before the agent began; they are marked, and all that differs in them is shown."))
	}
	if d.Incomplete != "" {
		notes = append(notes, words.Capital(d.Incomplete)+".")
	}
	return notes
}
