// Package term prints for people: colours, tables, blocks and progress on a terminal, plain lines in a pipe. It also
// reads single keys. It prints texts that agents wrote in such a way that they cannot steer the terminal. Use a [UI] and
// a [Progress] in one goroutine only. A killed process may leave the line that it last drew. If it is killed while
// [OnEscape] runs, the terminal stays without echo.
package term

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"sync"

	"golang.org/x/term"

	"github.com/understudyd/understudy/daemon/fit"
	"github.com/understudyd/understudy/daemon/words"
)

// UI prints for people: in colour on a terminal, plainly in a pipe.
type UI struct {
	Out      io.Writer
	Terminal bool // lines may be redrawn
	Colour   bool
	Home     string                       // a terminal shows it as ~
	WithData func(sentence string) string // completes the commands in a sentence; nil if they need no addition
}

// IsTerminal reports whether a stream is a terminal.
func IsTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Size returns the size of the terminal that a stream leads to. It returns zeros if the stream is no terminal.
func Size(stream any) (columns, rows int) {
	if f, ok := stream.(*os.File); ok {
		if w, h, err := term.GetSize(int(f.Fd())); err == nil && w > 0 && h > 0 {
			return w, h
		}
	}
	return 0, 0
}

// Width returns how many columns the terminal has. In a pipe it returns 80.
func (u *UI) Width() int {
	if columns, _ := Size(u.Out); columns > 0 {
		return columns
	}
	return 80
}

// Printf prints its arguments unchanged; the caller must have removed control characters from them.
func (u *UI) Printf(format string, args ...any) { fmt.Fprintf(u.Out, format, args...) }

// Sentence prepares a sentence, which may name commands, for a terminal.
func (u *UI) Sentence(s string) string {
	if u.WithData != nil {
		s = u.WithData(s)
	}
	return words.Terminal(s)
}

// Paint colours a text. code is the terminal's code of the colour.
func (u *UI) Paint(code, s string) string {
	if !u.Colour || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (u *UI) Bold(s string) string   { return u.Paint("1", s) }
func (u *UI) Dim(s string) string    { return u.Paint("2", s) }
func (u *UI) Red(s string) string    { return u.Paint("31", s) }
func (u *UI) Green(s string) string  { return u.Paint("32", s) }
func (u *UI) Yellow(s string) string { return u.Paint("33", s) }

// Table prints rows in aligned columns under a head.
func (u *UI) Table(head []string, rows [][]string) error {
	for _, row := range rows {
		for i, cell := range row {
			row[i] = u.Tilde(words.Terminal(cell))
		}
	}
	for _, line := range fit.Rows(append([][]string{head}, rows...)) {
		if _, err := fmt.Fprintln(u.Out, u.Fit(line)); err != nil {
			return err
		}
	}
	return nil
}

// Tilde shortens the home directory to ~ on a terminal. In a pipe the path stays complete, because a program may open
// it.
func (u *UI) Tilde(path string) string { return words.Home(path, u.HomeShown()) }

// HomeShown returns the home directory that is shown as ~; "" in a pipe.
func (u *UI) HomeShown() string {
	if u.Terminal {
		return u.Home
	}
	return ""
}

// Fit cuts a line to the width of a terminal.
func (u *UI) Fit(line string) string {
	if !u.Terminal {
		return line
	}
	return fit.Cut(line, u.Width())
}

// Fields prints pairs of a name and a value, one per line. It leaves out empty values.
func (u *UI) Fields(pairs ...string) {
	wide := 0
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			wide = max(wide, len(pairs[i]))
		}
	}
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			value := strings.Join(u.Fold(u.Sentence(pairs[i+1]), wide+2), "\n"+strings.Repeat(" ", wide+2))
			u.Printf("%s%s  %s\n", u.Dim(pairs[i]), strings.Repeat(" ", wide-len(pairs[i])), value)
		}
	}
}

// Block prints a text behind a bar, so that a reader can distinguish it from the lines around it.
func (u *UI) Block(text string) {
	for line := range strings.Lines(strings.TrimRight(text, " \t\n") + "\n") {
		line = words.Terminal(strings.TrimRight(line, "\n"))
		said := strings.TrimLeft(line, " ")
		indent := line[:len(line)-len(said)]
		for _, part := range u.Fold(said, 4+len(indent)) { // the bar takes 4 columns
			u.Printf("  %s %s%s\n", u.Dim("│"), indent, part)
		}
	}
}

// Hang folds a sentence to the terminal's width and indents all lines but the first.
func (u *UI) Hang(s string) string { return strings.Join(u.Fold(u.Sentence(s), 2), "\n  ") }

// Fold breaks a text between words into lines for a terminal. The caller uses the number of columns in taken itself. A
// text in backquotes stays in one piece if it fits on a line. A command of understudy or git always stays in one piece,
// so that a person can copy it.
func (u *UI) Fold(text string, taken int) []string {
	wide := max(u.Width()-taken, 20)
	if !u.Terminal || fit.Width(text) <= wide {
		return []string{text}
	}
	const joint = "\ue000" // one column wide, and in no text
	text = codeSpan().ReplaceAllStringFunc(text, func(s string) string {
		if fit.Width(s) > wide && !strings.HasPrefix(s, "`understudy ") && !strings.HasPrefix(s, "`git ") {
			return s
		}
		return strings.ReplaceAll(s, " ", joint)
	})
	lines := fit.Fold(text, wide)
	for i := range lines {
		lines[i] = strings.ReplaceAll(lines[i], joint, " ")
	}
	return lines
}

var codeSpan = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("`[^`]+`") })
