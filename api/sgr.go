package api

import (
	"fmt"
	"html"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// screenHTML turns a captured pane (text with SGR sequences and the shifts of line drawing) into HTML: escaped text in
// spans. Attributes and the 256 colours become classes, such as bold, f12 for a foreground and g12 for a background. For
// reversed text it exchanges the two colours. Other colours become data-f and data-g, because a style attribute would need
// a policy that allows all styles. screenHTML drops everything else: control bytes, links and titles. A style continues
// after the end of a line, as in tmux.
func screenHTML(screen string) string {
	c := converter{in: screen}
	c.out.Grow(len(screen) + len(screen)/2)
	for c.in != "" {
		c.next()
	}
	c.span(style{})
	return c.out.String()
}

// attribute is a set of the properties of a text other than its colours.
type attribute uint16

const (
	bold attribute = 1 << iota
	dim
	italic
	underline
	blink
	reverse
	hidden
	strike
	overline
)

var attributeNames = []string{"bold", "dim", "italic", "underline", "blink", "reverse", "hidden", "strike", "overline"}

// colour is 0 for the terminal's default colour. Otherwise it is an index of the palette with the mark inPalette, or an RGB
// value with the mark isRGB.
type colour uint32

const (
	inPalette colour = 1 << 24
	isRGB     colour = 1 << 25
)

// style is how a text looks. The zero style is plain.
type style struct {
	attributes attribute
	fore, back colour
}

type converter struct {
	in      string
	out     strings.Builder
	want    style // the style of the text that follows
	written style // the style of the open span
	drawing bool  // letters stand for characters of line drawing
}

// next converts one rune or one sequence of the input.
func (c *converter) next() {
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
		c.out.WriteRune(r)
	case unicode.IsControl(r):
	default:
		c.span(c.want)
		if line, ok := lineDrawing[r]; ok && c.drawing {
			r = line
		}
		c.out.WriteString(html.EscapeString(string(r)))
	}
}

// span closes and opens spans so that the next text has style s.
func (c *converter) span(s style) {
	if s == c.written {
		return
	}
	if c.written != (style{}) {
		c.out.WriteString("</span>")
	}
	if s != (style{}) {
		c.out.WriteString("<span" + s.markup() + ">")
	}
	c.written = s
}

func (s style) markup() string {
	if s.attributes&reverse != 0 { // the class reverse exchanges the terminal's default colours
		s.fore, s.back = s.back, s.fore
	}
	var classes []string
	for i, name := range attributeNames {
		if s.attributes&(1<<i) != 0 {
			classes = append(classes, name)
		}
	}
	var data string
	for _, side := range []struct {
		name   string
		colour colour
	}{{"f", s.fore}, {"g", s.back}} {
		switch {
		case side.colour&inPalette != 0:
			classes = append(classes, side.name+strconv.Itoa(int(side.colour&0xff)))
		case side.colour&isRGB != 0:
			data += fmt.Sprintf(` data-%s="#%06x"`, side.name, uint32(side.colour&0xffffff))
		}
	}
	if len(classes) == 0 {
		return data
	}
	return ` class="` + strings.Join(classes, " ") + `"` + data
}

// escape converts the sequence after an ESC. If the sequence does not end before the end of its line, escape drops it.
func (c *converter) escape() {
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
func (c *converter) sgr(text string) {
	parameters := strings.Split(text, ";")
	for len(parameters) > 0 {
		sub := strings.Split(parameters[0], ":")
		parameters = parameters[1:]
		code := number(sub[0])
		switch code {
		case 38, 48, 58:
			var value colour
			var ok bool
			if len(sub) > 1 {
				value, _, ok = extended(sub[1:], true)
			} else {
				var used int
				value, used, ok = extended(parameters, false)
				parameters = parameters[used:]
			}
			if ok && code == 38 {
				c.want.fore = value
			} else if ok && code == 48 {
				c.want.back = value
			}
		default:
			c.want.apply(code, sub[1:])
		}
	}
}

func (s *style) apply(code int, sub []string) {
	set := func(a attribute) { s.attributes |= a }
	unset := func(a attribute) { s.attributes &^= a }
	switch {
	case code == 0:
		*s = style{}
	case code == 5 && len(sub) > 0 && number(sub[0]) == 3: // tmux 3.3a writes 53 like this
		set(overline)
	case code == 4 && len(sub) > 0 && number(sub[0]) == 0:
		unset(underline)
	case code >= 1 && code <= 5:
		set(bold << (code - 1))
	case code == 6:
		set(blink)
	case code >= 7 && code <= 9:
		set(reverse << (code - 7))
	case code == 21: // double underline
		set(underline)
	case code == 22:
		unset(bold | dim)
	case code >= 23 && code <= 25:
		unset(italic << (code - 23))
	case code >= 27 && code <= 29:
		unset(reverse << (code - 27))
	case code >= 30 && code <= 37:
		s.fore = inPalette | colour(code-30)
	case code == 39:
		s.fore = 0
	case code >= 40 && code <= 47:
		s.back = inPalette | colour(code-40)
	case code == 49:
		s.back = 0
	case code == 53:
		set(overline)
	case code == 55:
		unset(overline)
	case code >= 90 && code <= 97:
		s.fore = inPalette | colour(code-90+8)
	case code >= 100 && code <= 107:
		s.back = inPalette | colour(code-100+8)
	}
}

// extended reads the colour after 38, 48 or 58. The colour is 5 and an index, or 2 and red, green and blue. If colons
// separate these parameters, a colour space may stand before red. used is how many parameters extended has read.
func extended(p []string, colons bool) (value colour, used int, ok bool) {
	if len(p) == 0 {
		return 0, 0, false
	}
	switch number(p[0]) {
	case 5:
		if len(p) < 2 {
			return 0, len(p), false
		}
		n := number(p[1])
		return inPalette | colour(n&0xff), 2, n >= 0 && n <= 255
	case 2:
		if colons && len(p) >= 5 {
			p = append([]string{p[0]}, p[2:]...)
		}
		if len(p) < 4 {
			return 0, len(p), false
		}
		r, g, b := number(p[1]), number(p[2]), number(p[3])
		ok = min(r, g, b) >= 0 && max(r, g, b) <= 255
		return isRGB | colour(r&0xff<<16|g&0xff<<8|b&0xff), 4, ok
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
