package fit

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Path cuts a path to that many columns at its left, where possible before a slash: "…/shop/api".
func Path(path string, columns int) string {
	n := Width(path)
	if n <= columns {
		return path
	}
	if columns < 1 {
		return ""
	}
	kept := path
	for lost := n - columns + 1; Width(kept) >= columns; lost++ { // again if the cut is within a wide character
		kept = ansi.TruncateLeftWc(path, lost, "")
	}
	if at := strings.IndexByte(kept, '/'); at >= 0 && at < len(kept)-1 {
		kept = kept[at:]
	}
	return "…" + kept
}

// Where cuts a [words.Where] to that many columns. The branch keeps at most half of them.
func Where(where string, columns int) string {
	directory, branch := where, ""
	if at := strings.LastIndexByte(where, ' '); at >= 0 { // no branch has a blank
		directory, branch = where[:at], " "+Cut(where[at+1:], max(columns/2, 1))
	}
	return Path(directory, max(columns-Width(branch), 1)) + branch
}
