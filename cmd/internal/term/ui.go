// Package term prints for people: colours, tables, blocks and progress on a terminal, plain lines in a pipe; and reads
// single keys. Nothing that agents wrote can steer the terminal.
package term

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"sync"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/diff"
	"golang.org/x/term"

	"github.com/understudyd/understudy/daemon/words"
)

// UI prints for people: in colour on a terminal, plainly in a pipe.
type UI struct {
	Out      io.Writer
	Terminal bool // lines may be redrawn
	Colour   bool
	Home     string                       // written as ~ on a terminal
	WithData func(sentence string) string // app.withData; nil: as it is
}

// IsTerminal reports whether a stream of the command is one.
func IsTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Size is that of the terminal that a stream of the command is; zeros if it is none.
func Size(stream any) (columns, rows int) {
	if f, ok := stream.(*os.File); ok {
		if w, h, err := term.GetSize(int(f.Fd())); err == nil && w > 0 && h > 0 {
			return w, h
		}
	}
	return 0, 0
}

// Width is how many columns the terminal has.
func (u *UI) Width() int {
	if columns, _ := Size(u.Out); columns > 0 {
		return columns
	}
	return 80
}

func (u *UI) Printf(format string, args ...any) { fmt.Fprintf(u.Out, format, args...) }

// Sentence is one that may name commands, for a terminal.
func (u *UI) Sentence(s string) string {
	if u.WithData != nil {
		s = u.WithData(s)
	}
	return words.Terminal(s)
}

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

// Table prints rows in aligned columns under a head. Cells hold no colour: it would count as width.
func (u *UI) Table(head []string, rows [][]string) error {
	var b bytes.Buffer
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, strings.Join(head, "\t"))
	for _, row := range rows {
		for i, cell := range row {
			row[i] = u.Tilde(words.Terminal(cell))
		}
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for line := range strings.Lines(b.String()) {
		if _, err := fmt.Fprintln(u.Out, u.Fit(strings.TrimSuffix(line, "\n"))); err != nil {
			return err
		}
	}
	return nil
}

// Tilde is a path as people write it, on a terminal: in a pipe somebody may open it.
func (u *UI) Tilde(path string) string {
	if rest, ok := strings.CutPrefix(path, u.Home); ok && u.Terminal && u.Home != "" && (rest == "" || rest[0] == '/') {
		return "~" + rest
	}
	return path
}

// Fit cuts a line without colours to the width of a terminal.
func (u *UI) Fit(line string) string {
	if !u.Terminal {
		return line
	}
	return words.Clip(line, u.Width())
}

// Fields prints names and values, one per line, without those that are empty.
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

// Block prints a text indented, so that it can be told from what is said about it.
func (u *UI) Block(text string) {
	for line := range strings.Lines(strings.TrimRight(text, " \t\n") + "\n") {
		line = words.Terminal(strings.TrimRight(line, "\n"))
		said := strings.TrimLeft(line, " ")
		indent := line[:len(line)-len(said)]
		for _, part := range u.Fold(said, 4+len(indent)) { // 4: the bar
			u.Printf("  %s %s%s\n", u.Dim("│"), indent, part)
		}
	}
}

// Hang is a sentence that goes on indented where it is wider than the terminal.
func (u *UI) Hang(s string) string { return strings.Join(u.Fold(u.Sentence(s), 2), "\n  ") }

// Fold breaks a text between words for a terminal of which so many columns are taken. What stands between
// backquotes stays in one piece: a command of ours or of git also if it is wider than that, so that it can
// be copied.
func (u *UI) Fold(text string, taken int) []string {
	wide := max(u.Width()-taken, 20)
	if !u.Terminal || utf8.RuneCountInString(text) <= wide {
		return []string{text}
	}
	const joint = "\x00"
	text = codeSpan().ReplaceAllStringFunc(text, func(s string) string {
		if utf8.RuneCountInString(s) > wide && !strings.HasPrefix(s, "`understudy ") && !strings.HasPrefix(s, "`git ") {
			return s
		}
		return strings.ReplaceAll(s, " ", joint)
	})
	return strings.Split(strings.ReplaceAll(Wrap(text, wide), joint, " "), "\n")
}

var codeSpan = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("`[^`]+`") })

// Wrap breaks lines between words.
func Wrap(s string, width int) string {
	var b strings.Builder
	column := 0
	for word := range strings.FieldsSeq(s) {
		n := utf8.RuneCountInString(word)
		switch {
		case column == 0:
		case column+1+n > width:
			b.WriteByte('\n')
			column = 0
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += n
	}
	return b.String()
}

// Stamp is a point in local time, in full.
func Stamp(t *time.Time) string {
	if t == nil {
		return ""
	}
	return words.Stamp(*t)
}

func Number(id *int64) string {
	if id == nil {
		return ""
	}
	return fmt.Sprint(*id)
}

func Text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func YesOrNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// Diff prints what changes in the file.
func (u *UI) Diff(path string, before, after []byte) {
	for line := range strings.Lines(string(diff.Diff(path, before, path+" (new)", after))) {
		line = strings.TrimRight(line, "\n")
		switch {
		case strings.HasPrefix(line, "diff "):
			continue
		case strings.HasPrefix(line, "+"):
			u.Printf("%s\n", u.Green(line))
		case strings.HasPrefix(line, "-"):
			u.Printf("%s\n", u.Red(line))
		default:
			u.Printf("%s\n", line)
		}
	}
}
