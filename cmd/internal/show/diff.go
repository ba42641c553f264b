package show

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/understudyd/understudy/cmd/internal/term"
	"github.com/understudyd/understudy/daemon/agents"
	"github.com/understudyd/understudy/daemon/words"
	"github.com/understudyd/understudy/daemon/worktree"
)

// Diff prints what has changed in an agent's directory: the notes, the files with their counts, and the hunks that the
// diff has.
func Diff(u *term.UI, d *agents.AgentDiff) {
	u.Printf("%s\n", u.Bold(words.Terminal(d.Title())))
	for _, note := range d.Notes {
		u.Printf("%s\n", u.Yellow(strings.Join(u.Fold(words.Terminal(note), 0), "\n")))
	}
	for i := range d.Files {
		u.Printf("%s\n", fileLine(u, &d.Files[i]))
	}
	for i := range d.Files {
		f := &d.Files[i]
		if len(f.Hunks) == 0 {
			continue
		}
		u.Printf("\n%s\n", u.Bold(words.Terminal(f.Path)))
		for _, h := range f.Hunks {
			u.Printf("%s\n", u.Dim(words.Terminal(fmt.Sprintf("@@ -%d +%d @@ %s", h.OldStart, h.NewStart, h.Section))))
			for _, line := range h.Lines {
				u.Printf("%s\n", hunkLine(u, line))
			}
		}
		if f.Cut {
			u.Printf("%s\n", u.Dim("… cut: name the file to see more of it"))
		}
	}
}

func hunkLine(u *term.UI, line string) string {
	text := words.Terminal(strings.ReplaceAll(line, "\t", "    "))
	switch {
	case strings.HasPrefix(line, "+"):
		return u.Green(text)
	case strings.HasPrefix(line, "-"):
		return u.Red(text)
	}
	return text
}

func fileLine(u *term.UI, f *worktree.FileDiff) string {
	return fmt.Sprintf("  %-9s  %s  %s%s", f.Status, counts(u, f), words.Terminal(f.Path), u.Dim(words.Terminal(fileNotes(f))))
}

// counts returns how much of a file has changed, in columns.
func counts(u *term.UI, f *worktree.FileDiff) string {
	if !f.Binary {
		return u.Green(fmt.Sprintf("%6s", fmt.Sprintf("+%d", f.Added))) + " " + u.Red(fmt.Sprintf("%-6s", fmt.Sprintf("-%d", f.Deleted)))
	}
	size := "binary"
	if n := cmp.Or(f.Size, f.OldSize); n != nil {
		size = words.Size(*n)
	}
	return u.Dim(fmt.Sprintf("%13s", size))
}

func fileNotes(f *worktree.FileDiff) string {
	var notes []string
	if f.OldPath != "" {
		notes = append(notes, "from "+f.OldPath)
	}
	if f.Note != "" {
		notes = append(notes, f.Note)
	}
	if f.Before {
		notes = append(notes, "differed before")
	}
	if len(notes) == 0 {
		return ""
	}
	return "  (" + strings.Join(notes, "; ") + ")"
}
