package main

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
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/understudyd/understudy/daemon"
)

// ui prints for people: in colour on a terminal, plainly in a pipe.
type ui struct {
	out      io.Writer
	terminal bool // lines may be redrawn
	colour   bool
	home     string                       // written as ~ on a terminal
	withData func(sentence string) string // app.withData; nil: as it is
}

func (a *app) ui(out io.Writer) *ui {
	terminal := isTerminal(out) && a.getenv("TERM") != "dumb"
	return &ui{
		out: out, terminal: terminal, colour: terminal && a.getenv("NO_COLOR") == "",
		home: a.getenv("HOME"), withData: a.withData,
	}
}

// isTerminal reports whether a stream of the command is one.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// paneSize is the size of a pane for the terminal that the command is used at; zeros if there is none.
func (a *app) paneSize() (columns, rows int) {
	for _, stream := range []any{a.stdin, a.stdout, a.stderr} {
		if f, ok := stream.(*os.File); ok {
			if columns, rows, err := term.GetSize(int(f.Fd())); err == nil && columns > 0 && rows > 0 {
				return daemon.PaneSize(columns, rows)
			}
		}
	}
	return 0, 0
}

// width is how many columns the terminal has.
func (u *ui) width() int {
	if f, ok := u.out.(*os.File); ok {
		if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
			return w
		}
	}
	return 80
}

func (u *ui) printf(format string, args ...any) { fmt.Fprintf(u.out, format, args...) }

// sentence is one that may name commands, for a terminal.
func (u *ui) sentence(s string) string {
	if u.withData != nil {
		s = u.withData(s)
	}
	return printable(s)
}

func (u *ui) paint(code, s string) string {
	if !u.colour || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (u *ui) bold(s string) string   { return u.paint("1", s) }
func (u *ui) dim(s string) string    { return u.paint("2", s) }
func (u *ui) red(s string) string    { return u.paint("31", s) }
func (u *ui) green(s string) string  { return u.paint("32", s) }
func (u *ui) yellow(s string) string { return u.paint("33", s) }

// table prints rows in aligned columns under a head. Cells hold no colour: it would count as width.
func (u *ui) table(head []string, rows [][]string) error {
	var b bytes.Buffer
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, strings.Join(head, "\t"))
	for _, row := range rows {
		for i, cell := range row {
			row[i] = u.tilde(printable(cell))
		}
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for line := range strings.Lines(b.String()) {
		if _, err := fmt.Fprintln(u.out, u.fit(strings.TrimSuffix(line, "\n"))); err != nil {
			return err
		}
	}
	return nil
}

// tilde is a path as people write it, on a terminal: in a pipe somebody may open it.
func (u *ui) tilde(path string) string {
	if rest, ok := strings.CutPrefix(path, u.home); ok && u.terminal && u.home != "" && (rest == "" || rest[0] == '/') {
		return "~" + rest
	}
	return path
}

// fit cuts a line without colours to the width of a terminal.
func (u *ui) fit(line string) string {
	if !u.terminal {
		return line
	}
	return cut(line, u.width())
}

// cut takes a line down to a width, with a mark where something is missing.
func cut(line string, width int) string {
	if r := []rune(line); len(r) > width {
		return strings.TrimRight(string(r[:max(width-1, 0)]), " ") + "…"
	}
	return line
}

// fields prints names and values, one per line, without those that are empty.
func (u *ui) fields(pairs ...string) {
	wide := 0
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			wide = max(wide, len(pairs[i]))
		}
	}
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			value := strings.Join(u.fold(u.sentence(pairs[i+1]), wide+2), "\n"+strings.Repeat(" ", wide+2))
			u.printf("%s%s  %s\n", u.dim(pairs[i]), strings.Repeat(" ", wide-len(pairs[i])), value)
		}
	}
}

// block prints a text indented, so that it can be told from what is said about it.
func (u *ui) block(text string) {
	for line := range strings.Lines(strings.TrimRight(text, " \t\n") + "\n") {
		line = printable(strings.TrimRight(line, "\n"))
		words := strings.TrimLeft(line, " ")
		indent := line[:len(line)-len(words)]
		for _, part := range u.fold(words, 4+len(indent)) { // 4: the bar
			u.printf("  %s %s%s\n", u.dim("│"), indent, part)
		}
	}
}

// hang is a sentence that goes on indented where it is wider than the terminal.
func (u *ui) hang(s string) string { return strings.Join(u.fold(u.sentence(s), 2), "\n  ") }

// fold breaks a text between words for a terminal of which so many columns are taken. What stands between
// backquotes stays in one piece: a command of ours or of git also if it is wider than that, so that it can
// be copied.
func (u *ui) fold(text string, taken int) []string {
	wide := max(u.width()-taken, 20)
	if !u.terminal || utf8.RuneCountInString(text) <= wide {
		return []string{text}
	}
	const joint = "\x00"
	text = codeSpan().ReplaceAllStringFunc(text, func(s string) string {
		if utf8.RuneCountInString(s) > wide && !strings.HasPrefix(s, "`understudy ") && !strings.HasPrefix(s, "`git ") {
			return s
		}
		return strings.ReplaceAll(s, " ", joint)
	})
	return strings.Split(strings.ReplaceAll(wrap(text, wide), joint, " "), "\n")
}

var codeSpan = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("`[^`]+`") })

// wrap breaks lines between words.
func wrap(s string, width int) string {
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

// printable makes a text safe for a terminal, and one line that reads in the order it is written in: names,
// notes and screens come from agents.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r):
			return -1
		}
		return r
	}, s)
}

// ago is the time since t, roughly.
func ago(t time.Time) string {
	switch d := time.Since(t); {
	case d < time.Second:
		return "now"
	case d < 2*time.Minute:
		return fmt.Sprintf("%ds ago", int(d.Seconds()))
	case d < 2*time.Hour:
		return fmt.Sprintf("%dm ago", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh ago", int(d.Hours()))
	default:
		return t.Local().Format(time.DateOnly)
	}
}

// seconds is a measured time.
func seconds(d time.Duration) string { return fmt.Sprintf("%.2f s", max(d, 0).Seconds()) }

// stamp is a point in local time, in full.
func stamp(t *time.Time) string {
	if t == nil {
		return ""
	}
	return t.Local().Format("2006-01-02 15:04:05 MST")
}

// orDash is the value, or a dash where a cell would be empty.
func orDash(s *string) string {
	if s == nil || *s == "" {
		return "-"
	}
	return *s
}

func number(id *int64) string {
	if id == nil {
		return ""
	}
	return fmt.Sprint(*id)
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
