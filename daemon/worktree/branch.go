package worktree

import "strings"

// ValidBranch reports whether git accepts a name for a branch, by the rules of git-check-ref-format(1) as `git
// check-ref-format --branch` applies them. It also refuses "@", because "@" is another name of HEAD, and names that git
// would expand, such as "@{-1}".
func ValidBranch(name string) bool {
	switch {
	case name == "", name == "HEAD", name == "@", strings.HasPrefix(name, "-"), strings.HasSuffix(name, "."),
		strings.Contains(name, ".."), strings.Contains(name, "@{"), strings.ContainsAny(name, " ~^:?*[\\\x7f"):
		return false
	}
	for _, c := range []byte(name) {
		if c < ' ' {
			return false
		}
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || strings.HasPrefix(part, ".") || strings.HasSuffix(part, ".lock") {
			return false
		}
	}
	return true
}
