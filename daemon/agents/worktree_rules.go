package agents

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/words"
	"github.com/understudyd/understudy/daemon/worktree"
)

// Ready reports whether an agent can work in the tree. wait says that this is decided later, because the tree is being made, removed or
// brought back. why says why nobody can.
func Ready(t *daemon.Worktree) (wait bool, why error) {
	switch {
	case t.State == daemon.TreePlanned, t.Task != nil && t.Task.Do != daemon.TreeMerge:
		return true, nil
	case t.State == daemon.TreeFailed && t.Last != nil && t.Last.Do == daemon.TreeMake:
		says := words.TrimDot(t.Last.Says)
		return false, errors.New(strings.ToLower(says[:1]) + says[1:])
	case t.State != daemon.TreeStanding:
		return false, treeGone(t)
	}
	return false, nil
}

// treeGone returns the error that nobody can work in a tree, because the tree is not there.
func treeGone(t *daemon.Worktree) *daemon.Error {
	if t.State == daemon.TreeRemoved {
		return daemon.Errorf(daemon.KindConflict, daemon.CodeWorktreeRemoved, "The work tree %s was removed: bring it back with `understudy worktree restore %d`", t.Path, t.ID)
	}
	return daemon.Errorf(daemon.KindConflict, daemon.CodeWorktreeRemoved, "The work tree %s was never made: start another agent", t.Path)
}

// NewWorktree asks for a work tree of its own for a new agent.
type NewWorktree struct {
	Branch string `json:"branch"` // an existing branch or a new one; "": a new one, named after the agent
	Base   string `json:"base"`   // where a new branch begins; "": at the HEAD of the agent's directory
}

// MaxBranch is the longest name of a branch, in bytes.
const MaxBranch = 200

// BranchFor returns the branch of the work tree for a new agent.
func (in *NewWorktree) BranchFor(a *daemon.Agent) (string, error) {
	if in.Branch == "" {
		named := a.Name
		if a.Persona != nil && IsNameOf(a.Name, *a.Persona) {
			named = *a.Persona // the agent's id tells the branches of its agents apart
		}
		return PlainName(named, 60) + "-" + strconv.FormatInt(a.ID, 10), nil
	}
	if len(in.Branch) > MaxBranch || !worktree.ValidBranch(in.Branch) {
		return "", daemon.Errorf(daemon.KindInvalid, daemon.CodeBadBranch, "branch %.80q is not a name that git takes", in.Branch)
	}
	return in.Branch, nil
}

// NotMade says that the work tree of a branch could not be made, without a full stop.
func NotMade(branch string, cause error) string {
	return fmt.Sprintf("The work tree of branch %s could not be made: %s", branch, words.TrimDot(cause.Error()))
}

// Stays refuses a tree that is not there for an agent to work in, or that is about to go.
func Stays(t *daemon.Worktree) error {
	switch {
	case t.Task != nil && t.Task.Do == daemon.TreeRemove:
		return daemon.Errorf(daemon.KindConflict, daemon.CodeWorktreeBusy, "The work tree %s is being removed: wait until that is over, then bring it back with `understudy worktree restore %d`", t.Path, t.ID)
	case t.State == daemon.TreeRemoved, t.State == daemon.TreeFailed:
		return treeGone(t)
	}
	return nil
}

// Within reports whether a path is a folder or something in it.
func Within(path, folder string) bool {
	return path == folder || strings.HasPrefix(path, strings.TrimSuffix(folder, "/")+"/")
}
