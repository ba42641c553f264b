package worktree

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode/utf8"
)

const (
	maxParents  = 64   // how many folders from a directory upward are looked at for a repository
	maxHeadFile = 4096 // how many bytes Head reads of a file
	shortCommit = 8    // how many digits name a commit
)

// Head returns the repository that a directory is in and the branch that is checked out there. repository is the name of the
// repository's folder; for a linked work tree it is that of the main one. branch is the first digits of a commit if no branch
// is checked out. Both are "" outside a repository, and branch is "" if the repository does not keep it in a file.
//
// Head reads the files that git keeps and runs nothing. So the configuration of a hostile repository has no effect. It does
// not report texts of other files: what is no branch and no commit is left out.
func Head(dir string) (repository, branch string) {
	top, gitDir := find(dir)
	if gitDir == "" {
		return "", ""
	}
	if common := readLine(filepath.Join(gitDir, "commondir")); common != "" {
		if common = absolute(common, gitDir); filepath.Base(common) == ".git" {
			top = filepath.Dir(common)
		}
	}
	return cleanName(filepath.Base(top)), branchOf(readLine(filepath.Join(gitDir, "HEAD")))
}

// find returns the top of the work tree that holds dir, and its git directory; gitDir is "" outside a repository.
func find(dir string) (top, gitDir string) {
	for range maxParents {
		if gitDir := gitDirOf(dir); gitDir != "" {
			return dir, gitDir
		}
		up := filepath.Dir(dir)
		if up == dir {
			break
		}
		dir = up
	}
	return "", ""
}

// gitDirOf returns the directory in which git keeps the state of a work tree whose top is dir; "": dir is not such a top.
func gitDirOf(dir string) string {
	path := filepath.Join(dir, ".git")
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return ""
	case info.IsDir():
		if _, err := os.Lstat(filepath.Join(path, "HEAD")); err != nil {
			return ""
		}
		return path
	}
	if to, ok := strings.CutPrefix(readLine(path), "gitdir: "); ok { // of a linked work tree, or of a submodule
		return absolute(to, dir)
	}
	return ""
}

// MadeSince returns the commit at which a linked work tree began, if git has made the tree since the given time. git keeps it
// in the first line of the tree's log of HEAD: two commits, a name, an address, seconds and a zone, then a tab.
func MadeSince(dir string, since time.Time) (commit string, made bool) {
	_, gitDir := find(dir)
	if gitDir == "" || readLine(filepath.Join(gitDir, "commondir")) == "" {
		return "", false // no repository, or the repository's own work tree
	}
	who, _, _ := strings.Cut(firstLine(filepath.Join(gitDir, "logs", "HEAD"), true), "\t")
	words := strings.Fields(who)
	if len(words) < 4 || !commitID().MatchString(words[1]) {
		return "", false
	}
	at, err := strconv.ParseInt(words[len(words)-2], 10, 64)
	return words[1], err == nil && at >= since.Unix()
}

// Lock returns why git must not remove the linked work tree that holds dir, as whoever locked it has said; "": it is not locked.
func Lock(dir string) string {
	_, gitDir := find(dir)
	if gitDir == "" {
		return ""
	}
	return readLine(filepath.Join(gitDir, "locked"))
}

func absolute(path, from string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(from, path)
}

// readLine returns the first line of a regular file; "" if the file can't be read or its line is long. O_NONBLOCK makes that
// it does not wait at a pipe.
func readLine(path string) string { return firstLine(path, false) }

// firstLine is readLine. With long the file may have more than the line.
func firstLine(path string, long bool) string {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return ""
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	b, err := io.ReadAll(io.LimitReader(f, maxHeadFile))
	line, _, whole := strings.Cut(string(b), "\n")
	if err != nil || len(b) == maxHeadFile && !(long && whole) || !utf8.ValidString(line) {
		return ""
	}
	return strings.TrimSuffix(line, "\r")
}

var commitID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`) })

// branchOf reads the line of a HEAD.
func branchOf(head string) string {
	if name, ok := strings.CutPrefix(head, "ref: refs/heads/"); ok && ValidBranch(name) && cleanName(name) == name {
		return name
	}
	if commitID().MatchString(head) {
		return head[:shortCommit]
	}
	return ""
}

// maxHeadName is the longest name of a repository or a branch that Head returns, in bytes.
const maxHeadName = 250

// cleanName returns a name, or "" if the name is long or has control characters.
func cleanName(name string) string {
	if len(name) > maxHeadName || !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }) || name == "/" {
		return ""
	}
	return name
}
