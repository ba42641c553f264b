package data

import (
	"iter"
	"regexp"
	"strings"
	"sync"
)

// block is a paragraph, a row of a table or the first paragraph of a list item.
type block struct {
	indent int // in columns
	item   bool
	text   string // without the marker of a list item
}

// blocks returns the blocks of a text. It leaves out fenced code.
func (o outline) blocks() []block {
	var all []block
	open := false // whether the next line may belong to the last block
	end := 0      // where the previous line ends
	for at, line := range o.plainLines() {
		indent, content, item := listItem(line)
		row := strings.HasPrefix(strings.TrimLeft(line, " \t"), "|")
		switch {
		case strings.TrimSpace(line) == "":
			open = false
		case item || row || !open || at != end+1:
			all = append(all, block{indent: indent, item: item, text: content})
			open = !row
		default:
			last := &all[len(all)-1]
			start := end - len(last.text)
			last.text = o.text[start : at+len(line)]
		}
		end = at + len(line)
	}
	return all
}

// plainLines yields the lines that are not in fenced code, without the newline.
func (o outline) plainLines() iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		code := o.code
		for at, line := range lines(o.text) {
			for len(code) > 0 && code[0].end < at {
				code = code[1:]
			}
			if (len(code) == 0 || at < code[0].start) && !yield(at, line) {
				return
			}
		}
	}
}

// marker matches the marker of a list item, including the check box of a task.
var marker = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([-*+]|[0-9]{1,9}[.)])(?:[ \t]+(\[[ xX]\][ \t]+)?|$)`)
})

// listItem returns a line's indent in columns, its content, and whether the line begins a list item. The content of a
// list item is without the marker.
func listItem(line string) (indent int, content string, item bool) {
	content = strings.TrimLeft(line, " \t")
	for _, c := range []byte(line[:len(line)-len(content)]) {
		if c == '\t' {
			indent += 4 - indent%4
		} else {
			indent++
		}
	}
	found := marker().FindString(content)
	if found == "" || isRule(content) {
		return indent, content, false
	}
	return indent, content[len(found):], true
}

// isRule reports whether a line is a rule across the page, such as --- or * * *.
func isRule(content string) bool {
	rest := strings.Trim(content, " \t")
	n := 0
	for i := range len(rest) {
		switch rest[i] {
		case ' ', '\t':
		case rest[0]:
			n++
		default:
			return false
		}
	}
	return n >= 3 && strings.IndexByte("-*_", rest[0]) >= 0
}
