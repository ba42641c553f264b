package dashboard

import (
	"context"
	"fmt"
	"net/url"

	"github.com/understudyd/understudy/daemon/agents"
	"github.com/understudyd/understudy/daemon/words"
	"github.com/understudyd/understudy/daemon/worktree"
)

// diffOf is the data of the page with what has changed in an agent's directory.
type diffOf struct {
	agents.AgentDiff
	Tree  int64    // the work tree whose diff it is; 0: it is an agent's
	Page  string   // the address of the page with all files
	Named []string // the files that the page was asked for; none: all
	Paths []changed
	More  bool // hunks are left out
}

// changed is a file of the page.
type changed struct {
	worktree.FileDiff
	Index int
	Link  string // the page with this file alone
	Lines []hunk
}

// hunk is a hunk with the class of each line.
type hunk struct {
	Title string
	Lines []hunkLine
}

type hunkLine struct{ Class, Mark, Text string }

var lineClasses = map[byte]string{'+': "new", '-': "old", '\\': "remark"}

// Diff draws the page with what has changed in an agent's directory. It does not follow the feed: the page stays as it is
// until it is loaded again.
func (p *Pages) Diff(ctx context.Context, id int64, in agents.DiffRequest) (*Page, error) {
	diff, err := p.Daemon.AgentDiff(ctx, id, in)
	if err != nil {
		return nil, err
	}
	out := &diffOf{AgentDiff: diff, Page: fmt.Sprintf("/ui/agents/%d/diff", id), Named: in.Files}
	return p.diffPage(out, fmt.Sprintf("What changed: %s (agent %d)", diff.AgentName, id), "agents"), nil
}

// WorktreeDiff draws the page with what has changed in a work tree since its branch began.
func (p *Pages) WorktreeDiff(ctx context.Context, id int64, in agents.DiffRequest) (*Page, error) {
	diff, err := p.House.Worktrees.WorktreeDiff(ctx, id, in)
	if err != nil {
		return nil, err
	}
	out := &diffOf{AgentDiff: diff, Tree: id, Page: fmt.Sprintf("/ui/worktrees/%d/diff", id), Named: in.Files}
	return p.diffPage(out, fmt.Sprintf("What changed: work tree %d", id), "worktrees"), nil
}

func (p *Pages) diffPage(out *diffOf, title, here string) *Page {
	diff := &out.AgentDiff
	for i := range diff.Files {
		f := changed{FileDiff: diff.Files[i], Index: i, Link: out.Page + "?file=" + url.QueryEscape(diff.Files[i].Path)}
		for _, h := range f.Hunks {
			f.Lines = append(f.Lines, hunkOf(&h))
		}
		out.Paths = append(out.Paths, f)
	}
	return p.page("diff", title, here, "", out)
}

func hunkOf(h *worktree.Hunk) hunk {
	out := hunk{Title: words.Line(fmt.Sprintf("line %d → line %d  %s", h.OldStart, h.NewStart, h.Section))}
	for _, line := range h.Lines {
		if line == "" {
			line = " "
		}
		out.Lines = append(out.Lines, hunkLine{lineClasses[line[0]], line[:1], words.Page(line[1:])})
	}
	return out
}

// Sized says how large a binary file was and is.
func (f changed) Sized() string {
	switch {
	case f.OldSize != nil && f.Size != nil:
		return words.Size(*f.OldSize) + " → " + words.Size(*f.Size)
	case f.Size != nil:
		return words.Size(*f.Size)
	case f.OldSize != nil:
		return "was " + words.Size(*f.OldSize)
	}
	return "size not known"
}
