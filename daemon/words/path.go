package words

import (
	"strings"
	"unicode/utf8"
)

// Home writes a path below a home directory with ~ in its place. home may be "".
func Home(path, home string) string {
	home = strings.TrimSuffix(home, "/")
	if rest, ok := strings.CutPrefix(path, home); ok && home != "" && (rest == "" || rest[0] == '/') {
		return "~" + rest
	}
	return path
}

// ShortPath cuts a path to limit characters at its left, where possible before a slash: "…/shop/api".
func ShortPath(path string, limit int) string {
	n := utf8.RuneCountInString(path)
	if n <= limit {
		return path
	}
	if limit < 1 {
		return ""
	}
	kept := string([]rune(path)[n-limit+1:])
	if at := strings.IndexByte(kept, '/'); at >= 0 && at < len(kept)-1 {
		kept = kept[at:]
	}
	return "…" + kept
}

// Where writes the directory that an agent works in, and what is checked out there: "~/src/shop main". It names the
// repository as well if the directory does not: "~/trees/fix shop:main".
func Where(directory, repository, branch string) string {
	if repository != "" && !strings.Contains("/"+directory+"/", "/"+repository+"/") {
		branch = Join(":", repository, branch)
	}
	return Join(" ", directory, branch)
}

// ShortWhere cuts a [Where] to limit characters. The branch keeps at most half of them.
func ShortWhere(where string, limit int) string {
	directory, branch := where, ""
	if at := strings.LastIndexByte(where, ' '); at >= 0 { // no branch has a blank
		directory, branch = where[:at], " "+Clip(where[at+1:], max(limit/2, 1))
	}
	return ShortPath(directory, max(limit-utf8.RuneCountInString(branch), 1)) + branch
}
