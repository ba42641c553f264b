// Package sgr reads what a captured pane shows: characters with their colours and attributes. A leaf.
//
// A pane holds what an agent has printed, which is hostile. What this package returns cannot steer a terminal.
package sgr

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Each reads a captured pane: text with SGR sequences and the shifts of line drawing. It gives each character to write, with
// its style. It drops everything else: control bytes but "\n" and "\t", links and titles. A style continues after the end
// of a line, as in tmux.
func Each(screen string, write func(r rune, s Style)) {
	c := reader{in: screen, write: write}
	for c.in != "" {
		c.next()
	}
}

// Clean returns a captured pane as text with colours and attributes, and nothing else that could steer a terminal. Each line
// begins plain. Blinking, and characters that reorder a line or hide in it, are left out.
func Clean(screen string) string {
	var out strings.Builder
	out.Grow(len(screen) + len(screen)/4)
	var is Style
	be := func(s Style) {
		s.Attributes &^= Blink
		if s != is {
			out.WriteString(s.Sequence())
			is = s
		}
	}
	Each(screen, func(r rune, s Style) {
		switch {
		case r == '\n':
			s = Style{}
		case hides(r):
			return
		}
		be(s)
		out.WriteRune(r)
	})
	be(Style{})
	return out.String()
}

// hides reports whether a character reorders a line, or is there unseen. Joiners are part of words and emoji, and some format characters of
// Arabic are signs that are seen.
func hides(r rune) bool {
	return unicode.Is(unicode.Cf, r) && r != '\u200c' && r != '\u200d' && !unicode.Is(unicode.Prepended_Concatenation_Mark, r)
}

// Attribute is a set of the properties of a text other than its colours.
type Attribute uint16

// The attributes.
const (
	Bold Attribute = 1 << iota
	Dim
	Italic
	Underline
	Blink
	Reverse
	Hidden
	Strike
	Overline
)

// Colour is 0 for the terminal's default colour. Otherwise it is an index of the palette with the mark InPalette, or an RGB
// value with the mark IsRGB.
type Colour uint32

// The marks of a [Colour].
const (
	InPalette Colour = 1 << 24
	IsRGB     Colour = 1 << 25
)

// Style is how a text looks. The zero Style is plain.
type Style struct {
	Attributes Attribute
	Fore, Back Colour
}

// Sequence returns the sequence after which text has the style, whatever came before.
func (s Style) Sequence() string {
	out := "\x1b[0"
	for i, code := range [...]int{1, 2, 3, 4, 5, 7, 8, 9, 53} { // in the order of the attributes
		if s.Attributes&(1<<i) != 0 {
			out += ";" + strconv.Itoa(code)
		}
	}
	return out + s.Fore.parameters(30) + s.Back.parameters(40) + "m"
}

// parameters returns the parameters that set a colour. base is 30 for a foreground, 40 for a background.
func (c Colour) parameters(base int) string {
	n := int(c & 0xff)
	switch {
	case c&IsRGB != 0:
		return fmt.Sprintf(";%d;2;%d;%d;%d", base+8, c>>16&0xff, c>>8&0xff, n)
	case c&InPalette == 0:
		return ""
	case n < 8:
		return fmt.Sprintf(";%d", base+n)
	case n < 16:
		return fmt.Sprintf(";%d", base+60+n-8)
	}
	return fmt.Sprintf(";%d;5;%d", base+8, n)
}

// reader reads a captured pane.
type reader struct {
	in      string
	write   func(r rune, s Style)
	want    Style // the style of the text that follows
	drawing bool  // letters stand for characters of line drawing
}

// next reads one rune or one sequence of the input.
func (c *reader) next() {
	r, size := utf8.DecodeRuneInString(c.in)
	c.in = c.in[size:]
	switch {
	case r == '\x1b':
		c.escape()
	case r == '\x0e':
		c.drawing = true
	case r == '\x0f':
		c.drawing = false
	case r == '\n' || r == '\t':
		c.write(r, c.want)
	case unicode.IsControl(r):
	default:
		if line, ok := lineDrawing[r]; ok && c.drawing {
			r = line
		}
		c.write(r, c.want)
	}
}

// escape reads the sequence after an ESC. If the sequence does not end before the end of its line, escape drops it.
func (c *reader) escape() {
	if c.in == "" {
		return
	}
	kind := c.in[0]
	switch kind {
	case '[':
		c.in = c.in[1:]
		n := strings.IndexFunc(c.in, func(r rune) bool { return r < 0x20 || r > 0x3f })
		if n < 0 {
			c.in = ""
			return
		}
		if end := c.in[n]; end < 0x40 || end > 0x7e { // the sequence is broken off, and this character belongs to the text
			c.in = c.in[n:]
			return
		} else if end == 'm' && !strings.ContainsAny(c.in[:n], "<=>? ") { // with one of these it is another sequence
			c.sgr(c.in[:n])
		}
		c.in = c.in[n+1:]
	case ']', 'P', 'X', '^', '_':
		c.in = c.in[1:]
		n := strings.IndexAny(c.in, "\x07\x1b\n")
		if n < 0 {
			c.in = ""
			return
		}
		end := c.in[n]
		c.in = c.in[n:]
		if end == '\x07' {
			c.in = c.in[1:]
		} else {
			c.in = strings.TrimPrefix(c.in, "\x1b\\")
		}
	default: // intermediate bytes and one final byte, as in ESC ( B
		n := strings.IndexFunc(c.in, func(r rune) bool { return r < 0x20 || r > 0x2f })
		if n < 0 {
			c.in = ""
			return
		}
		c.in = c.in[n:]
		if c.in[0] >= 0x30 && c.in[0] <= 0x7e {
			c.in = c.in[1:]
		}
	}
}

// sgr applies the parameters of one SGR sequence. Semicolons separate attributes, and colons separate the parameters of one
// attribute. It skips unknown attributes.
func (c *reader) sgr(text string) {
	parameters := strings.Split(text, ";")
	for len(parameters) > 0 {
		sub := strings.Split(parameters[0], ":")
		parameters = parameters[1:]
		code := number(sub[0])
		switch code {
		case 38, 48, 58:
			var value Colour
			var ok bool
			if len(sub) > 1 {
				value, _, ok = extended(sub[1:], true)
			} else {
				var used int
				value, used, ok = extended(parameters, false)
				parameters = parameters[used:]
			}
			if ok && code == 38 {
				c.want.Fore = value
			} else if ok && code == 48 {
				c.want.Back = value
			}
		default:
			c.want.apply(code, sub[1:])
		}
	}
}

func (s *Style) apply(code int, sub []string) {
	set := func(a Attribute) { s.Attributes |= a }
	unset := func(a Attribute) { s.Attributes &^= a }
	switch {
	case code == 0:
		*s = Style{}
	case code == 5 && len(sub) > 0 && number(sub[0]) == 3: // tmux 3.3a writes 53 like this
		set(Overline)
	case code == 4 && len(sub) > 0 && number(sub[0]) == 0:
		unset(Underline)
	case code >= 1 && code <= 5:
		set(Bold << (code - 1))
	case code == 6:
		set(Blink)
	case code >= 7 && code <= 9:
		set(Reverse << (code - 7))
	case code == 21: // double underline
		set(Underline)
	case code == 22:
		unset(Bold | Dim)
	case code >= 23 && code <= 25:
		unset(Italic << (code - 23))
	case code >= 27 && code <= 29:
		unset(Reverse << (code - 27))
	case code >= 30 && code <= 37:
		s.Fore = InPalette | Colour(code-30)
	case code == 39:
		s.Fore = 0
	case code >= 40 && code <= 47:
		s.Back = InPalette | Colour(code-40)
	case code == 49:
		s.Back = 0
	case code == 53:
		set(Overline)
	case code == 55:
		unset(Overline)
	case code >= 90 && code <= 97:
		s.Fore = InPalette | Colour(code-90+8)
	case code >= 100 && code <= 107:
		s.Back = InPalette | Colour(code-100+8)
	}
}

// extended reads the colour after 38, 48 or 58. The colour is 5 and an index, or 2 and red, green and blue. If colons
// separate these parameters, a colour space may stand before red. used is how many parameters extended has read.
func extended(p []string, colons bool) (value Colour, used int, ok bool) {
	if len(p) == 0 {
		return 0, 0, false
	}
	switch number(p[0]) {
	case 5:
		if len(p) < 2 {
			return 0, len(p), false
		}
		n := number(p[1])
		return InPalette | Colour(n&0xff), 2, n >= 0 && n <= 255
	case 2:
		if colons && len(p) >= 5 {
			p = append([]string{p[0]}, p[2:]...)
		}
		if len(p) < 4 {
			return 0, len(p), false
		}
		r, g, b := number(p[1]), number(p[2]), number(p[3])
		ok = min(r, g, b) >= 0 && max(r, g, b) <= 255
		return IsRGB | Colour(r&0xff<<16|g&0xff<<8|b&0xff), 4, ok
	}
	return 0, 1, false
}

// number parses a parameter. It returns 0 if the parameter is empty, and -1 if it is not a number.
func number(s string) int {
	if s == "" {
		return 0
	}
	n, err := strconv.ParseUint(s, 10, 16)
	if err != nil {
		return -1
	}
	return int(n)
}

// lineDrawing is the graphics character set of the VT100.
var lineDrawing = map[rune]rune{
	'`': '◆', 'a': '▒', 'f': '°', 'g': '±', 'j': '┘', 'k': '┐', 'l': '┌', 'm': '└', 'n': '┼',
	'o': '⎺', 'p': '⎻', 'q': '─', 'r': '⎼', 's': '⎽', 't': '├', 'u': '┤', 'v': '┴', 'w': '┬',
	'x': '│', 'y': '≤', 'z': '≥', '{': 'π', '|': '≠', '}': '£', '~': '·',
}
