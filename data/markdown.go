package data

import (
	"iter"
	"strings"
)

// This file finds the lines and the fenced code of a Markdown text; heading.go finds its headings.

// outline is a text with "\n" at the end of each line, and the places of its fenced code.
type outline struct {
	text string
	code []span // in order
}

// span is text[start:end].
type span struct{ start, end int }

// fence is a line that may open or close fenced code.
type fence struct {
	span        // without the newline
	char   byte // ` or ~
	length int  // how many times char stands there
	info   bool // text follows, so the line cannot close fenced code
}

func (f fence) closes(open fence) bool {
	return !f.info && f.char == open.char && f.length >= open.length
}

// unixLines makes every line of a text end with "\n", and removes a byte order mark.
func unixLines(text string) string {
	text = strings.TrimPrefix(text, "\ufeff")
	if strings.IndexByte(text, '\r') < 0 {
		return text
	}
	return strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
}

// readOutline finds the fenced code of a document. It differs from CommonMark in two cases: a fence that is never closed
// counts as text, and a fence around the whole document is removed. Otherwise a whole document would count as code, and
// agents write such documents.
func readOutline(document string) outline {
	text := unixLines(document)
	all := fences(text)
	if body, ok := unwrap(text, all); ok {
		text, all = body, fences(body)
	}
	return outline{text: text, code: fencedCode(all)}
}

// lines yields where each line of a text begins, and the line without its newline.
func lines(text string) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		for at := 0; at < len(text); {
			end := len(text)
			if i := strings.IndexByte(text[at:], '\n'); i >= 0 {
				end = at + i
			}
			if !yield(at, text[at:end]) {
				return
			}
			at = end + 1
		}
	}
}

// fences returns the lines that may open or close fenced code.
func fences(text string) []fence {
	all := make([]fence, 0, strings.Count(text, "\n```")+strings.Count(text, "\n~~~")+1)
	marks := [2]string{"```", "~~~"}
	next := [2]int{-1, -1} // the next place of each mark, not before at
	for at := 0; ; {
		for i, mark := range marks {
			if next[i] >= at {
				continue
			}
			if next[i] = strings.Index(text[at:], mark); next[i] < 0 {
				next[i] = len(text)
			} else {
				next[i] += at
			}
		}
		first := min(next[0], next[1])
		if first >= len(text) {
			return all
		}
		start, end := at+strings.LastIndexByte(text[at:first], '\n')+1, len(text)
		if i := strings.IndexByte(text[first:], '\n'); i >= 0 {
			end = first + i
		}
		if f, ok := readFence(text[start:end]); ok {
			f.span = span{start, end}
			all = append(all, f)
		}
		at = min(end+1, len(text))
	}
}

// readFence reads a line as a fence: up to three blanks, then at least three of ` or ~.
func readFence(line string) (fence, bool) {
	rest := line
	for i := 0; i < 3 && strings.HasPrefix(rest, " "); i++ {
		rest = rest[1:]
	}
	if !strings.HasPrefix(rest, "```") && !strings.HasPrefix(rest, "~~~") {
		return fence{}, false
	}
	char := rest[0]
	info := strings.TrimLeft(rest, string(char))
	if char == '`' && strings.IndexByte(info, '`') >= 0 {
		return fence{}, false // a code span, such as ```this```
	}
	return fence{char: char, length: len(rest) - len(info), info: strings.Trim(info, " \t") != ""}, true
}

// fencedCode returns the places of fenced code: from each opening fence to the fence that closes it. Its time is linear,
// because it looks for a closing fence only if it knows that there is one.
func fencedCode(all []fence) []span {
	var longest [128]int // by character: the longest fence from here to the end that can close
	after := make([]int, len(all))
	for i := len(all) - 1; i >= 0; i-- {
		f := all[i]
		after[i] = longest[f.char]
		if !f.info {
			longest[f.char] = max(longest[f.char], f.length)
		}
	}
	var code []span
	for i := 0; i < len(all); i++ {
		if after[i] < all[i].length {
			continue // never closed
		}
		open := all[i]
		for i++; !all[i].closes(open); i++ {
		}
		code = append(code, span{open.start, all[i].end})
	}
	return code
}

// unwrap returns the text inside a fence around the whole text. ok is false if there is no such fence. Agents do not
// always make the outer fence longer than the inner fences. So unwrap takes a fence with a language, such as ```go, for
// the start of inner code, and the next fence without one for the end of that code.
func unwrap(text string, all []fence) (body string, ok bool) {
	if len(all) < 2 {
		return "", false
	}
	first, last := all[0], all[len(all)-1]
	if !last.closes(first) || strings.TrimSpace(text[:first.start]) != "" || strings.TrimSpace(text[last.end:]) != "" {
		return "", false
	}
	depth, closed := 1, false
	for _, f := range all[1 : len(all)-1] {
		switch {
		case f.char != first.char || f.length < first.length:
		case f.info:
			depth++
		default:
			depth, closed = depth-1, true
		}
		if depth == 0 {
			return "", false
		}
	}
	if closed && depth != 1 {
		return "", false
	}
	return text[first.end+1 : last.start], true
}
