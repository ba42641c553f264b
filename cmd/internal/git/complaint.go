package git

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/understudyd/understudy/daemon/words"
)

// maxComplaint is how many characters of a line of git's are quoted.
const maxComplaint = 1000

// complaint returns the line that names the cause of a failure, of what git and the programs that it ran have printed; its exit code, if
// they printed none. The first failure is the cause of the others, so complaint takes the first line that says one. What follows are its
// consequences, and advice.
func complaint(stderr string, exit int) string {
	first, consequence := "", ""
	for line := range strings.Lines(strings.ReplaceAll(stderr, "\r", "\n")) {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || hasAny(strings.ToLower(line), beside):
			continue
		case hasAny(line, consequences):
			consequence = cmp.Or(consequence, line)
			continue
		case fails(strings.ToLower(line)):
			return words.Clip(words.Line(line), maxComplaint)
		}
		first = cmp.Or(first, line)
	}
	return words.Clip(words.Line(cmp.Or(first, consequence, fmt.Sprintf("exit code %d", exit))), maxComplaint)
}

// fails reports whether a line, in small letters, says that something failed: git's own lines, and those of a shell that finds no program.
func fails(line string) bool {
	return hasAny(line, []string{"fatal: ", "error: ", "error "}) || strings.HasSuffix(line, ": not found") || strings.Contains(line, "command not found") ||
		strings.Contains(line, "no such file or directory") || strings.Contains(line, "permission denied") || strings.Contains(line, "no space left")
}

// beside are the beginnings of lines, in small letters, that accompany a failure.
var beside = []string{"hint:", "warning:", "note:", "trace:", "remote: ", "updating files:", "preparing worktree", "filtering content:", "downloading "}

// consequences are the beginnings of lines that follow the line with the cause, or come before it and say less.
var consequences = []string{"fatal: the remote end hung up", "fatal: early EOF", "fatal: transport ", "error: external filter ", "error: initialization for subprocess"}

func hasAny(line string, beginnings []string) bool {
	for _, b := range beginnings {
		if strings.HasPrefix(line, b) {
			return true
		}
	}
	return false
}

// instead returns what a person does about a failure in a repository. If the clone is partial, objects may be missing, for git fetches none
// here; else it returns other. The names are commits that are needed.
func (r repository) instead(ctx context.Context, other string, names ...string) string {
	_, exit, err := r.run(ctx, io.Discard, "config", "--get-regexp", `^(extensions\.partialclone|remote\..*\.promisor)$`)
	if err != nil || exit != 0 {
		return other
	}
	fetch := ""
	for _, name := range names {
		commit, err := r.commitOf(ctx, name)
		if err != nil || commit == "" {
			return other
		}
		fetch = words.Join(" and ", fetch, fmt.Sprintf("`git diff --shortstat $(git hash-object -t tree /dev/null) %.12s`", commit))
	}
	return fmt.Sprintf("the clone is partial, and nothing is fetched here: fetch what is missing with %s in %s, and try again", fetch, r.dir)
}
