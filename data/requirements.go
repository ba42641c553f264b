package data

import (
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxRequirements is the size of the largest requirements file, in bytes.
const maxRequirements = 256 << 10

// maxListed is how many entries of folders a search for one requirement reads. A file that the search has not reached by
// then counts as missing, because a handoff must not wait for a folder with a million files.
const maxListed = 10_000

//go:embed requirements.yaml
var shippedRequirements []byte

// Requirements are the topics that a handoff must cover, by the role of the agent that takes over. The zero value
// requires nothing.
type Requirements struct {
	Roles   map[string][]string // role -> requirements of the role
	Aliases map[string]string   // other name of a role -> role
	Files   map[string][]string // requirement -> globs in the working directory that meet it
}

// ReadRequirements reads the requirements file at path. If there is no file, it returns the shipped requirements. If
// the file cannot be read or parsed, it returns the shipped requirements and an error for the operator. The error names
// the file and, if possible, the line.
func ReadRequirements(path string) (Requirements, error) {
	shipped, err := ParseRequirements(shippedRequirements)
	if err != nil {
		return Requirements{}, fmt.Errorf("shipped requirements, %w", err)
	}
	b, _, err := readSmall(path, maxRequirements)
	if errors.Is(err, fs.ErrNotExist) {
		return shipped, nil
	}
	if err != nil {
		return shipped, fmt.Errorf("requirements: %w", err)
	}
	r, err := ParseRequirements(b)
	if err != nil {
		return shipped, fmt.Errorf("%s, %w: mend it, or delete the file to use what is shipped", path, err)
	}
	return r, nil
}

// Canonical returns the role for which a name is an alias. If the name is no alias, it returns the name itself. In both
// cases it compares and returns small letters, with hyphens in place of blanks and underscores.
func (r Requirements) Canonical(role string) string {
	role = strings.NewReplacer("_", "-", " ", "-").Replace(strings.ToLower(strings.TrimSpace(role)))
	if name, ok := r.Aliases[role]; ok {
		return name
	}
	return role
}

// Of returns the requirements of a role in the order of the file, or nil for a role without an entry. The caller may
// change the list.
func (r Requirements) Of(role string) []string { return slices.Clone(r.Roles[r.Canonical(role)]) }

// DecisionsOf returns the role whose agents' decisions meet a requirement such as pm_decisions. It returns "" for
// all_decisions, which the decisions of any agent meet. ok is false for a requirement that no decision meets.
func (r Requirements) DecisionsOf(requirement string) (role string, ok bool) {
	whose, ok := strings.CutSuffix(requirement, "_decisions")
	switch {
	case !ok || whose == "":
		return "", false
	case whose == "all":
		return "", true
	}
	return r.Canonical(whose), true
}

// FileMeets reports whether the working directory dir has a regular file that meets a requirement and is not empty. It
// follows links inside dir, never out of dir. A folder that cannot be read counts as empty.
func (r Requirements) FileMeets(requirement, dir string) bool {
	globs := r.Files[requirement]
	if len(globs) == 0 {
		return false
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return false
	}
	defer root.Close()
	s := search{root: root, left: maxListed}
	return slices.ContainsFunc(globs, func(glob string) bool { return s.finds(".", strings.Split(glob, "/")) })
}

// search looks for a file by globs.
type search struct {
	root *os.Root
	left int // how many entries of folders the search may still read
}

// finds reports whether a file below dir matches the pattern. Each item of pattern is the glob of one path element.
func (s *search) finds(dir string, pattern []string) bool {
	if len(pattern) == 0 {
		info, err := s.root.Stat(dir)
		return err == nil && info.Mode().IsRegular() && info.Size() > 0
	}
	if !strings.ContainsAny(pattern[0], `*?[`) {
		return s.finds(path.Join(dir, pattern[0]), pattern[1:])
	}
	// Only folders are opened, because opening a fifo could block.
	if info, err := s.root.Stat(dir); err != nil || !info.IsDir() {
		return false
	}
	folder, err := s.root.Open(dir)
	if err != nil {
		return false
	}
	defer folder.Close()
	for s.left > 0 {
		entries, err := folder.ReadDir(min(s.left, 256))
		s.left -= len(entries)
		for _, e := range entries {
			if ok, _ := path.Match(pattern[0], e.Name()); ok && s.finds(path.Join(dir, e.Name()), pattern[1:]) {
				return true
			}
		}
		if err != nil { // io.EOF, or the rest of the folder cannot be read
			return false
		}
	}
	return false
}

// HeadingTitle returns the heading of a requirement: "Current Story" for current_story.
func HeadingTitle(requirement string) string {
	words := strings.FieldsFunc(requirement, func(r rune) bool { return r == '_' || r == '-' || unicode.IsSpace(r) })
	for i, word := range words {
		first, n := utf8.DecodeRuneInString(word)
		words[i] = string(unicode.ToUpper(first)) + word[n:]
	}
	return strings.Join(words, " ")
}

// HasSection reports whether a document has the heading of a requirement, and text between this heading and the next
// heading of the same or a higher level. Headings of lower levels do not count as text.
func HasSection(document, requirement string) bool {
	want := string(appendKey(nil, requirement))
	if want == "" {
		return false
	}
	o := readOutline(document)
	level := 0 // the level of the requirement's heading; 0 outside of its section
	for _, p := range o.parts(want) {
		if level > 0 && p.level <= level {
			level = 0
		}
		if level == 0 && p.which == 0 {
			level = p.level
		}
		if level > 0 && readable(o.text[p.from:max(p.from, p.end)]) {
			return true
		}
	}
	return false
}

// readable reports whether a text has a letter, number or symbol outside comments. Rules, fences and blanks do not count.
func readable(text string) bool {
	for {
		before, rest, ok := strings.Cut(text, "<!--")
		if strings.ContainsFunc(before, func(r rune) bool {
			return unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsSymbol(r) && r != '`' && r != '~'
		}) {
			return true
		}
		if !ok {
			return false
		}
		_, text, _ = strings.Cut(rest, "-->")
	}
}
