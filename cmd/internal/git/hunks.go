package git

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/understudyd/understudy/daemon/worktree"
)

// allowance is how much may still be shown.
type allowance struct{ lines, bytes, each int }

func (c *comparison) allowance() *allowance {
	if len(c.q.Files) > 0 {
		return &allowance{worktree.MaxAllNamed, worktree.MaxBytes, worktree.MaxNamed}
	}
	return &allowance{worktree.MaxLines, worktree.MaxBytes, worktree.MaxFileLines}
}

// errEnough ends git's diff as soon as nothing more may be shown.
var errEnough = errors.New("enough lines")

// hunks reads the hunks of the tracked files. What the untracked files have used is taken off the allowance.
func (c *comparison) hunks(ctx context.Context) error {
	p := patch{files: c.files, left: c.allowance()}
	for _, f := range c.files {
		p.left.charge(f)
	}
	stderr, exit, err := c.run(ctx, &p, c.diff("--patch", "--unified=3", "--src-prefix=a/", "--dst-prefix=b/", "--no-indent-heuristic", "--submodule=short",
		"--output-indicator-new=+", "--output-indicator-old=-", "--output-indicator-context= ")...)
	switch {
	case errors.Is(err, errEnough):
		c.leaveOut("the hunks are cut: name a file to see more of it")
		for _, f := range c.files {
			f.Cut = f.Cut || len(f.Hunks) == 0 && !f.Binary && f.Added+f.Deleted > 0
		}
		return nil
	case err != nil:
		return err
	case exit != 0:
		return c.refused("diff", stderr, exit)
	}
	return nil
}

// charge takes off what is shown of a file already.
func (a *allowance) charge(f *worktree.FileDiff) {
	for _, h := range f.Hunks {
		a.lines -= len(h.Lines)
		for _, line := range h.Lines {
			a.bytes -= len(line)
		}
	}
}

// patch reads a patch as git writes it. Inside of a hunk it counts the lines that the hunk's header has announced, so that
// no line of a file is taken for a header.
type patch struct {
	files    map[string]*worktree.FileDiff
	left     *allowance
	line     []byte // the beginning of a line whose end is not written yet: at most maxHeader bytes
	oldPath  string
	file     *worktree.FileDiff // of the hunks that follow; nil: not listed
	shown    int                // lines of file
	old, new int                // lines of the hunk that must still come
}

// maxHeader is enough for the longest path, with each byte quoted, and for more than MaxLine.
const maxHeader = 4*worktree.MaxPathBytes + 16

func (p *patch) Write(b []byte) (int, error) {
	n := len(b)
	for len(b) > 0 {
		part, rest, whole := bytes.Cut(b, []byte("\n"))
		if room := maxHeader - len(p.line); room > 0 {
			p.line = append(p.line, part[:min(room, len(part))]...)
		}
		if !whole {
			break
		}
		err := p.take(string(p.line))
		p.line, b = p.line[:0], rest
		if err != nil {
			return 0, err
		}
	}
	return n, nil
}

func (p *patch) take(line string) error {
	switch {
	case p.old > 0 || p.new > 0:
		return p.inHunk(line)
	case strings.HasPrefix(line, `\`): // no newline at the end of the file
		return p.show(line)
	case strings.HasPrefix(line, "@@ "):
		p.begin(line)
	case strings.HasPrefix(line, "diff --git "):
		p.file, p.oldPath, p.shown = nil, "", 0
	case strings.HasPrefix(line, "--- "):
		p.oldPath, _ = patchPath(line[4:], "a/")
	case strings.HasPrefix(line, "+++ "):
		path, ok := patchPath(line[4:], "b/")
		if !ok {
			path = p.oldPath // deleted
		}
		p.file = p.files[path]
	}
	return nil
}

// patchPath reads a path of a header. ok is false for /dev/null.
func patchPath(s, prefix string) (path string, ok bool) {
	s = strings.TrimSuffix(s, "\t") // git ends a path with spaces so
	if strings.HasPrefix(s, `"`) {
		if plain, err := strconv.Unquote(s); err == nil { // git quotes like C, of which Go understands all that git uses
			s = plain
		}
	}
	return strings.CutPrefix(s, prefix)
}

// begin reads the header of a hunk: @@ -1,2 +3,4 @@ section.
func (p *patch) begin(line string) {
	ranges, section, _ := strings.Cut(line[3:], " @@")
	from, to, ok := strings.Cut(ranges, " ")
	if !ok {
		return
	}
	h := worktree.Hunk{Section: clip(strings.TrimPrefix(section, " ")), Lines: []string{}}
	h.OldStart, p.old = span(strings.TrimPrefix(from, "-"))
	h.NewStart, p.new = span(strings.TrimPrefix(to, "+"))
	if p.file != nil && !p.file.Cut {
		p.file.Hunks = append(p.file.Hunks, h)
	}
}

// span reads 3,4 as line 3 and 4 lines, and 3 as line 3 and 1 line.
func span(s string) (start, lines int) {
	first, n, ok := strings.Cut(s, ",")
	start, _ = strconv.Atoi(first)
	if lines = 1; ok {
		lines, _ = strconv.Atoi(n)
	}
	return start, lines
}

func (p *patch) inHunk(line string) error {
	switch {
	case strings.HasPrefix(line, "+"):
		p.new--
	case strings.HasPrefix(line, "-"):
		p.old--
	case strings.HasPrefix(line, `\`):
	default:
		p.old, p.new = p.old-1, p.new-1
	}
	return p.show(line)
}

// show adds a line to the newest hunk of the file, as far as the allowance goes.
func (p *patch) show(line string) error {
	f := p.file
	if f == nil || f.Cut || len(f.Hunks) == 0 {
		return nil
	}
	line = clip(line)
	if p.left.lines <= 0 || p.left.bytes < len(line) {
		f.Cut = true
		return errEnough
	}
	if p.shown >= p.left.each {
		f.Cut = true
		return nil
	}
	h := &f.Hunks[len(f.Hunks)-1]
	h.Lines = append(h.Lines, line)
	p.shown++
	p.left.lines, p.left.bytes = p.left.lines-1, p.left.bytes-len(line)
	return nil
}

// clip cuts a line that is too long, between two characters, and makes it valid UTF-8.
func clip(line string) string {
	line = strings.TrimSuffix(line, "\r")
	if len(line) > worktree.MaxLine {
		return strings.ToValidUTF8(line[:worktree.MaxLine], "") + "…"
	}
	return strings.ToValidUTF8(line, "\uFFFD")
}

// untracked lists the files that git does not track and does not ignore.
func (c *comparison) untracked(ctx context.Context) error {
	read := 0
	take := func(path string) {
		if read += len(path); read > worktree.MaxListed {
			c.leaveOut("there are too many untracked files to list: put what is generated into .gitignore")
			return
		}
		f := worktree.FileDiff{Path: path, Status: "untracked"}
		if strings.HasSuffix(path, "/") {
			f.Note = "another repository"
		}
		c.enter(f)
	}
	return c.each(ctx, take, slices.Concat([]string{"ls-files", "-z", "--others", "--exclude-standard", "--"}, c.q.Files)...)
}

// readUntracked counts the lines of the untracked files and, unless only counts are asked for, shows them as added. It
// reads regular files only, and follows no link out of the work tree.
func (c *comparison) readUntracked(ctx context.Context) {
	root, err := os.OpenRoot(c.out.Top)
	if err != nil {
		c.leaveOut("untracked files could not be read")
		return
	}
	defer root.Close()
	left, budget := c.allowance(), int64(worktree.MaxUntracked)
	var paths []string
	for path, f := range c.files {
		if f.Status == "untracked" && f.Note == "" {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	for _, path := range paths {
		f := c.files[path]
		if ctx.Err() != nil {
			c.leaveOut("untracked files were not all read in time")
			f.Cut = true
			continue
		}
		b, whole := readNew(root, f, &budget)
		if !whole || f.Binary || len(b) == 0 {
			continue
		}
		c.showNew(f, b, left)
	}
}

// readNew reads an untracked file. If it is not a regular text file of a bearable size, it notes what it is.
func readNew(root *os.Root, f *worktree.FileDiff, budget *int64) ([]byte, bool) {
	path := filepath.FromSlash(f.Path)
	fi, err := root.Lstat(path)
	switch {
	case err != nil:
		f.Note = "it could not be read"
		return nil, false
	case fi.Mode()&os.ModeSymlink != 0:
		to, _ := root.Readlink(path)
		f.Note = "a link to " + clip(to)
		return nil, false
	case !fi.Mode().IsRegular():
		f.Note = "not a regular file"
		return nil, false
	}
	size := fi.Size()
	if size > worktree.MaxFileSize || size > *budget {
		f.Binary, f.Size = true, &size
		return nil, false
	}
	*budget -= size
	file, err := root.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0) // it may be a FIFO by now, which would wait
	if err != nil {
		f.Note = "it could not be read"
		return nil, false
	}
	defer file.Close()
	b, err := io.ReadAll(io.LimitReader(file, size))
	if err != nil {
		f.Note = "it could not be read"
		return nil, false
	}
	if bytes.IndexByte(b[:min(len(b), 8000)], 0) >= 0 { // git's rule for binary files
		f.Binary, f.Size = true, &size
	}
	return b, true
}

// showNew counts the lines of a new file and shows them as one hunk.
func (c *comparison) showNew(f *worktree.FileDiff, b []byte, left *allowance) {
	f.Added = bytes.Count(b, []byte("\n"))
	ended := bytes.HasSuffix(b, []byte("\n"))
	if !ended {
		f.Added++
	}
	if c.q.Stat {
		return
	}
	p := patch{file: f, left: left}
	f.Hunks = []worktree.Hunk{{NewStart: 1, Lines: []string{}}}
	for line := range bytes.Lines(b) {
		if p.show("+"+string(bytes.TrimSuffix(line, []byte("\n")))) != nil {
			c.leaveOut("the hunks are cut: name a file to see more of it")
			break
		}
	}
	if !ended && !f.Cut {
		_ = p.show(`\ No newline at end of file`) // errEnough has set f.Cut
	}
}
