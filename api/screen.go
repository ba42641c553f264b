package api

import (
	"fmt"
	"html"
	"net/http"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/understudyd/understudy/daemon/sgr"
	"github.com/understudyd/understudy/daemon/words"
)

// screen sends the screen of an agent as a text, with the colours of a terminal, or as HTML.
func (h agentHandlers) screen(c echo.Context) error {
	id, err := key[int64](c)
	if err != nil {
		return err
	}
	p := paramsOf(c)
	format := p.oneOf("format", "text", "html", "ansi")
	if p.err != nil {
		return p.err
	}
	screen, err := h.Daemon.Screen(c.Request().Context(), id, format == "html" || format == "ansi")
	if err != nil {
		return err
	}
	switch format {
	case "html":
		return c.Blob(http.StatusOK, "text/html; charset=utf-8", []byte(`<pre class="screen">`+words.Page(screenHTML(screen))+"</pre>\n"))
	case "ansi":
		screen = strings.ToValidUTF8(sgr.Clean(screen), "\uFFFD")
	default:
		screen = words.Screen(screen)
	}
	return c.Blob(http.StatusOK, "text/plain; charset=utf-8", []byte(screen))
}

// screenHTML turns a captured pane into HTML: escaped text in spans. Attributes and the 256 colours become classes, such as
// bold, f12 for a foreground and g12 for a background. For reversed text it exchanges the two colours. Other colours become
// data-f and data-g, because a style attribute would need a policy that allows all styles.
func screenHTML(screen string) string {
	var out strings.Builder
	out.Grow(len(screen) + len(screen)/2)
	var open sgr.Style // of the open span
	span := func(s sgr.Style) {
		if s == open {
			return
		}
		if open != (sgr.Style{}) {
			out.WriteString("</span>")
		}
		if s != (sgr.Style{}) {
			out.WriteString("<span" + markup(s) + ">")
		}
		open = s
	}
	sgr.Each(screen, func(r rune, s sgr.Style) {
		if r != '\n' && r != '\t' {
			span(s)
		}
		out.WriteString(html.EscapeString(string(r)))
	})
	span(sgr.Style{})
	return out.String()
}

var attributeNames = []string{"bold", "dim", "italic", "underline", "blink", "reverse", "hidden", "strike", "overline"}

// markup returns the attributes of a span.
func markup(s sgr.Style) string {
	if s.Attributes&sgr.Reverse != 0 { // the class reverse exchanges the terminal's default colours
		s.Fore, s.Back = s.Back, s.Fore
	}
	var classes []string
	for i, name := range attributeNames {
		if s.Attributes&(1<<i) != 0 {
			classes = append(classes, name)
		}
	}
	var data string
	for _, side := range []struct {
		name   string
		colour sgr.Colour
	}{{"f", s.Fore}, {"g", s.Back}} {
		switch {
		case side.colour&sgr.InPalette != 0:
			classes = append(classes, side.name+strconv.Itoa(int(side.colour&0xff)))
		case side.colour&sgr.IsRGB != 0:
			data += fmt.Sprintf(` data-%s="#%06x"`, side.name, uint32(side.colour&0xffffff))
		}
	}
	if len(classes) == 0 {
		return data
	}
	return ` class="` + strings.Join(classes, " ") + `"` + data
}
