package show

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/understudyd/understudy/cmd/internal/term"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/fit"
	"github.com/understudyd/understudy/daemon/words"
	"github.com/understudyd/understudy/daemon/worktrees"
)

// TreeColumns are the heads of a list of work trees.
func TreeColumns() []string {
	return []string{"ID", "BRANCH", "FROM", "STATE", "SIZE", "AGENT", "PATH"}
}

// TreeRow is a row of that list.
func TreeRow(u *term.UI, v *worktrees.TreeView) []string {
	path := words.Terminal(u.Tilde(v.Path))
	if u.Terminal {
		path = fit.Path(path, 30)
	}
	return []string{fmt.Sprint(v.ID), words.Terminal(v.Branch), words.Terminal(cmp.Or(v.Base, "-")), words.Terminal(v.Standing()), TreeSize(v), words.Terminal(TreeUsers(v)), path}
}

// TreeSize says how large a tree is on disk.
func TreeSize(v *worktrees.TreeView) string {
	switch {
	case v.Look.Gone || v.Look.Bytes == 0:
		return "-"
	case v.Look.AtLeast:
		return "> " + words.Size(v.Look.Bytes)
	}
	return words.Size(v.Look.Bytes)
}

// TreeUsers says who works in a tree.
func TreeUsers(v *worktrees.TreeView) string {
	who := "nobody"
	for i, a := range v.Agents {
		if a.State != daemon.Ended || i == 0 {
			who = fmt.Sprintf("%s (%d, %s)", a.Name, a.ID, a.State)
		}
		if a.State != daemon.Ended {
			break
		}
	}
	if v.PipelineID != nil {
		who = fmt.Sprintf("pipeline %d", *v.PipelineID)
	}
	return who
}

// Worktree prints one work tree.
func Worktree(u *term.UI, v *worktrees.TreeView) {
	l := &v.Look
	var copied []string
	for _, c := range v.Copied {
		copied = append(copied, fmt.Sprintf("%s (%s)", c.Path, words.Size(c.Bytes)))
	}
	files := func(names []string, n int) string {
		if n == 0 {
			return ""
		}
		return words.List(names, n)
	}
	last := ""
	if v.Last != nil {
		last = v.Last.Says
	}
	u.Fields("worktree", fmt.Sprint(v.ID), "branch", words.Terminal(cmp.Or(l.Branch, v.Branch)), "from", words.Terminal(words.Join(" at ", v.Base, v.BaseCommit[:min(len(v.BaseCommit), 10)])),
		"state", words.Terminal(v.Standing()), "path", words.Terminal(v.Path), "repository", words.Terminal(v.Repository), "size", TreeSize(v), "agents", words.Terminal(TreeUsers(v)),
		"commit", words.Terminal(words.Join(", ", l.Commit[:min(len(l.Commit), 10)], commitAge(v))),
		"uncommitted", words.Terminal(files(l.Uncommitted, l.UncommittedCount)), "ignored", words.Terminal(files(l.Ignored, l.IgnoredCount)),
		"copied", words.Terminal(strings.Join(copied, ", ")), "kept as", words.Terminal(v.KeptRef), "last", words.Terminal(last))
}

func commitAge(v *worktrees.TreeView) string {
	if v.Look.CommitAt.IsZero() {
		return ""
	}
	return words.Ago(v.Look.CommitAt)
}
