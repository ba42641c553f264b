package term

import (
	"slices"
	"strings"

	"github.com/understudyd/understudy/daemon/fit"
	"github.com/understudyd/understudy/daemon/words"
)

// Column is a column of a [Grid].
type Column struct {
	Title string
	Least int // in a narrow terminal the column has this width, or it is left out; 0: all that it needs
	Most  int // the column is never wider than this; 0: no limit
	Worth int // columns with a smaller number get room first
	// Fit shortens a cell to a width; nil: its end is cut off.
	Fit func(cell string, width int) string
}

// Grid lays rows out in columns below their titles, within width columns of the terminal; 0: without a limit. A column whose cells are all
// empty is left out, and so are the columns for which no room is left. Then cells hold "-" for nothing.
func Grid(columns []Column, rows [][]string, width int) []string {
	widths := make([]int, len(columns))
	for _, row := range rows {
		for i := range row {
			row[i] = words.Terminal(row[i])
			widths[i] = max(widths[i], fit.Width(row[i]))
		}
	}
	for i, c := range columns {
		if widths[i] > 0 {
			widths[i] = max(widths[i], fit.Width(c.Title))
		}
	}
	if width > 0 {
		widths = shareOut(columns, widths, width)
	}
	titles := make([]string, len(columns))
	for i, c := range columns {
		titles[i] = c.Title
	}
	lines := []string{gridLine(columns, titles, widths)}
	for _, row := range rows {
		lines = append(lines, gridLine(columns, row, widths))
	}
	return lines
}

const gridGap = 2

// shareOut divides a width among columns that want certain widths. First, by their worth, as many columns as possible get their
// least width. Then the others get the rest, in the same order.
func shareOut(columns []Column, wanted []int, width int) []int {
	order := make([]int, len(columns))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return columns[a].Worth - columns[b].Worth })
	got, left := make([]int, len(columns)), width+gridGap
	for _, i := range order {
		want := wanted[i]
		if most := columns[i].Most; most > 0 {
			want = min(want, most)
		}
		if least := columns[i].Least; least > 0 {
			want = min(want, least)
		}
		if want > 0 && want+gridGap <= left {
			got[i] = want
			left -= want + gridGap
		}
	}
	for _, i := range order {
		want := wanted[i]
		if most := columns[i].Most; most > 0 {
			want = min(want, most)
		}
		if more := min(want-got[i], left); more > 0 && got[i] > 0 {
			got[i] += more
			left -= more
		}
	}
	return got
}

func gridLine(columns []Column, cells []string, widths []int) string {
	var b strings.Builder
	for i, cell := range cells {
		if widths[i] == 0 {
			continue
		}
		if cell == "" {
			cell = "-"
		}
		if shorten := columns[i].Fit; shorten != nil && fit.Width(cell) > widths[i] {
			cell = shorten(cell, widths[i])
		}
		b.WriteString(fit.Pad(cell, widths[i]) + strings.Repeat(" ", gridGap))
	}
	return strings.TrimRight(b.String(), " ")
}
