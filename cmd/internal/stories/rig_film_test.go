//go:build e2e

package stories

import (
	"bytes"
	"fmt"
	"html"
	"image/color"
	"os"
	"strings"
	"time"

	uv "github.com/charmbracelet/ultraviolet"
)

// film records what a pane shows, as frames that an animated SVG shows one after the other. An SVG stays sharp at any size
// and needs no player: a README can show it.
type film struct {
	pane          *topPane
	columns, rows int
	frames        []frame
}

// frame is one screen, with SGR sequences for its colours, and how long the film shows it.
type frame struct {
	screen string
	shown  time.Duration
}

func (s *topPane) film(columns, rows int) *film { return &film{pane: s, columns: columns, rows: rows} }

// take adds what the pane shows now. The film shows it for that long.
func (f *film) take(shown time.Duration) {
	f.pane.t.Helper()
	f.frames = append(f.frames, frame{f.pane.runTmux("capture-pane", "-e", "-p"), shown})
}

// press presses keys, waits until the pane shows the texts, and takes that.
func (f *film) press(shown time.Duration, texts []string, keys ...string) {
	f.pane.t.Helper()
	f.pane.press(keys...)
	f.pane.awaitScreen(texts...)
	f.take(shown)
}

// typing types a text as a person does, with a frame for every few letters.
func (f *film) typing(text string) {
	f.pane.t.Helper()
	const letters = 4
	for at := 0; at < len(text); at += letters {
		end := min(at+letters, len(text))
		f.pane.press("-l", text[at:end])
		f.pane.awaitScreen(strings.TrimSpace(text[:end]))
		f.take(160 * time.Millisecond)
	}
}

// The measures of a film's cells and colours, in the SVG's units.
const (
	cellWidth, cellHeight = 8.4, 18.0
	filmMargin            = 12.0
	filmPaper, filmInk    = "#16181d", "#d7dae0"
)

// save writes the film as an animated SVG. Whoever asks for less motion sees its last frame. title describes it for those
// who do not see it.
func (f *film) save(path, title string) {
	f.pane.t.Helper()
	var all time.Duration
	for _, frame := range f.frames {
		all += frame.shown
	}
	width, height := float64(f.columns)*cellWidth+2*filmMargin, float64(f.rows)*cellHeight+2*filmMargin
	var out bytes.Buffer
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.1f %.1f" role="img" aria-labelledby="title"><title id="title">%s</title><style>`,
		width, height, html.EscapeString(title))
	out.WriteString("text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;white-space:pre;fill:" + filmInk + "}.b{font-weight:700}.i{font-style:italic}.u{text-decoration:underline}")
	fmt.Fprintf(&out, "#f{animation:f %.2fs steps(1,end) infinite}@keyframes f{", all.Seconds())
	var at time.Duration
	for i, frame := range f.frames {
		fmt.Fprintf(&out, "%.3f%%{transform:translateX(%.1fpx)}", 100*at.Seconds()/all.Seconds(), -float64(i)*width)
		at += frame.shown
	}
	last := -float64(len(f.frames)-1) * width
	fmt.Fprintf(&out, "}@media(prefers-reduced-motion:reduce){#f{animation:none;transform:translateX(%.1fpx)}}</style>", last)
	fmt.Fprintf(&out, `<rect width="100%%" height="100%%" rx="8" fill="%s"/><g id="f">`, filmPaper)
	for i, frame := range f.frames {
		fmt.Fprintf(&out, `<svg x="%.1f" width="%.1f" height="%.1f">`, float64(i)*width, width, height)
		f.draw(&out, frame.screen)
		out.WriteString("</svg>")
	}
	out.WriteString("</g></svg>\n")
	if err := os.WriteFile(path, out.Bytes(), 0o644); err != nil {
		f.pane.t.Fatal(err)
	}
}

// draw draws a screen. Cells of one look that follow each other are one text.
func (f *film) draw(out *bytes.Buffer, screen string) {
	cells := uv.NewScreenBuffer(f.columns, f.rows)
	uv.NewStyledString(strings.ReplaceAll(screen, "\n", "\r\n")).Draw(cells, cells.Bounds())
	for y := range f.rows {
		for x := 0; x < f.columns; {
			look, from, text := cells.CellAt(x, y).Style, x, ""
			for ; x < f.columns; x++ {
				cell := cells.CellAt(x, y)
				if !cell.Style.Equal(&look) {
					break
				}
				text += cell.Content // "" for the second cell of a wide character
			}
			drawRun(out, look, text, filmMargin+float64(from)*cellWidth, filmMargin+float64(y)*cellHeight, float64(x-from)*cellWidth)
		}
	}
}

// drawRun draws a text of one look at the left upper corner x, y. The text gets exactly that width, whatever font there is.
func drawRun(out *bytes.Buffer, look uv.Style, text string, x, y, width float64) {
	ink, paper := hexOf(look.Fg), hexOf(look.Bg)
	if look.Attrs&uv.AttrReverse != 0 {
		if ink == "" {
			ink = filmInk
		}
		if paper == "" {
			paper = filmPaper
		}
		ink, paper = paper, ink
	}
	if paper != "" {
		fmt.Fprintf(out, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"/>`, x, y, width, cellHeight, paper)
	}
	shown := strings.TrimRight(text, " ")
	if shown == "" {
		return
	}
	var class, more string
	for _, a := range []struct {
		has  bool
		name string
	}{{look.Attrs&uv.AttrBold != 0, "b"}, {look.Attrs&uv.AttrItalic != 0, "i"}, {look.Underline != 0, "u"}} {
		if a.has {
			class = strings.TrimSpace(class + " " + a.name)
		}
	}
	if class != "" {
		more += fmt.Sprintf(` class="%s"`, class)
	}
	if ink != "" {
		more += fmt.Sprintf(` style="fill:%s"`, ink)
	}
	if look.Attrs&uv.AttrFaint != 0 {
		more += ` opacity=".65"`
	}
	kept := width - cellWidth*float64(len(text)-len(shown))
	fmt.Fprintf(out, `<text x="%.1f" y="%.1f" textLength="%.1f"%s>%s</text>`, x, y+cellHeight*.75, kept, more, html.EscapeString(shown))
}

// hexOf writes a colour for SVG; "" is the terminal's own.
func hexOf(c color.Color) string {
	if c == nil {
		return ""
	}
	r, g, b, _ := c.RGBA()
	return fmt.Sprintf("#%02x%02x%02x", r>>8, g>>8, b>>8)
}
