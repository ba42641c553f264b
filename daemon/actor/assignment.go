package actor

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// TaskKind is the kind of work that a prompt asks for.
type TaskKind int

// The kinds of work.
const (
	SomethingElse TaskKind = iota
	WriteHandoff
	TakeOver
)

// Assignment is the work that a prompt asks for.
type Assignment struct {
	Kind     TaskKind
	Document string   // the path of the handoff document: to write, or with TakeOver to read
	Reads    []string // the paths of the files to read first
	Headings []string // the further headings that the document must have, beside those in headings
}

var (
	markdownEnd  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("[^\\s\"'`<>()]\\.md\\b") })
	contractName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`/handoffs/\d{8}T\d{6}-\d+\.md$`) })
	handoffWord  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)\bhand-?(off|over)\b`) })
	writeWord    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)\b(write|save|create|record|put)\b`) })
	handedOver   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)\bsession is being handed over\b`) })
	successor    = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)\b(predecessor|previous agent|previous session|take over|taking over)\b`)
	})
)

// Understand returns the work that a prompt asks for. The prompt asks for a handoff document if it has the word "handoff",
// a verb such as "write" and a path below /handoffs/. But it does not if it names a context file, or if it mentions a
// predecessor and the document exists already. Any other prompt that names a handoff document or a context file asks the
// agent to take over.
func Understand(prompt string) Assignment {
	var task Assignment
	hasContext := false
	for _, path := range findPaths(prompt) {
		isHandoff := strings.Contains(path, "/handoffs/")
		switch {
		case strings.HasSuffix(path, ".context.md"):
			hasContext = true
			task.Reads = append(task.Reads, path)
		case strings.HasSuffix(path, ".request.md"):
			if IsFile(path) {
				task.Reads = append(task.Reads, path)
			}
		case isHandoff && (task.Document == "" || contractName().MatchString(path) && !contractName().MatchString(task.Document)):
			task.Document = path
		case filepath.Base(path) != "experience.md" && IsFile(path):
			task.Reads = append(task.Reads, path)
		}
	}
	instructed := task.Document != "" && writeWord().MatchString(prompt) && handoffWord().MatchString(prompt)
	follows := hasContext || successor().MatchString(prompt) && IsFile(task.Document)
	switch {
	case instructed && !follows:
		task.Kind = WriteHandoff
		task.Headings = FurtherHeadings(prompt)
	case task.Document != "" || hasContext:
		task.Kind = TakeOver
		if task.Document != "" {
			task.Reads = append([]string{task.Document}, task.Reads...)
		}
	}
	return task
}

// AsksToHandOver reports whether a prompt mentions a handoff at all.
func AsksToHandOver(prompt string) bool {
	return handoffWord().MatchString(prompt) || handedOver().MatchString(prompt)
}

// findPaths finds the absolute paths of Markdown files in a text. A path may have blanks in it: it begins at the
// nearest slash before ".md" from which the path leads to a file or a directory that exists.
func findPaths(text string) []string {
	var out []string
	seen := map[string]bool{}
	from := 0
	for _, match := range markdownEnd().FindAllStringIndex(text, -1) {
		end, best := match[1], ""
		for start := end - 1; start >= from && text[start] != '\n'; start-- {
			if text[start] != '/' || start > 0 && !strings.ContainsRune(" \t\n\"'`(<:=", rune(text[start-1])) {
				continue
			}
			path := text[start:end]
			if best == "" {
				best = path
			}
			if info, err := os.Stat(filepath.Dir(filepath.Dir(path))); IsFile(path) || err == nil && info.IsDir() {
				best = path
				break
			}
		}
		if best != "" && !seen[best] {
			seen[best] = true
			out = append(out, filepath.Clean(best))
		}
		from = end
	}
	return out
}

// IsFile reports whether a regular file is at a path.
func IsFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// ListFiles names the first eight files of a directory that are not hidden.
func ListFiles(dir string) []string {
	const most = 8
	entries, _ := os.ReadDir(dir) // a directory that cannot be read looks empty
	var names []string
	for _, entry := range entries {
		if name := entry.Name(); !strings.HasPrefix(name, ".") && len(names) < most {
			if entry.IsDir() {
				name += "/"
			}
			names = append(names, name)
		}
	}
	return names
}

// headings are the headings that every handoff document has.
var headings = []string{"What Was Done", "Decisions Made", "Open Questions", "Next Agent Context"}

// askedHeading matches a heading within a line, which the prompt asks for. A heading at the beginning of a line is a
// heading of the prompt itself.
var askedHeading = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^#\n]## +([^\s,.;:()*#"\x60][^,.;:()*#"\x60\n]*)`) })

// FurtherHeadings returns the headings that an instruction asks for beside those in headings. instruction may also be the
// text of a file that an instruction names. A heading after the line "Focus on this:" is part of the focus and does not
// count.
func FurtherHeadings(instruction string) []string {
	instruction, _, _ = strings.Cut(instruction, "\nFocus on this:\n")
	var out []string
	for _, found := range askedHeading().FindAllStringSubmatch(instruction, -1) {
		name := strings.TrimSpace(found[1])
		if !slices.Contains(headings, name) && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}
