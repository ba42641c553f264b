package show

import (
	"fmt"
	"strings"
	"time"

	"github.com/understudyd/understudy/cmd/internal/term"
	"github.com/understudyd/understudy/daemon/pictures"
	"github.com/understudyd/understudy/daemon/words"
)

// DescribeDurations prints how long a handoff took in its phases, beside the medians of the last handoffs. It prints nothing if
// there are none to compare it with.
func DescribeDurations(u *term.UI, d *pictures.Durations) error {
	if d.MedianMS == nil {
		return nil
	}
	longest := int64(1)
	for i := range d.Phases {
		longest = max(longest, d.Phases[i].MS)
	}
	var rows [][]string
	for i := range d.Phases {
		p := &d.Phases[i]
		rows = append(rows, durationCells(words.Of(p.Phase), p.MS, p.MedianMS, longest))
	}
	rows = append(rows, durationCells("total", d.TotalMS, d.MedianMS, 0))
	u.Printf("\n%s\n", u.Dim(fmt.Sprintf("beside the median of %s", words.Count(d.Of, "other completed handoff"))))
	return u.Table([]string{"PHASE", "", "TIME", "MEDIAN", "RATIO"}, rows)
}

// durationCells are the cells of one row. The bar is a part of the longest phase; 0: it has none.
func durationCells(name string, ms int64, median *int64, longest int64) []string {
	const cells = 16
	bar, ratio, middle := "", "-", "-"
	if longest > 0 {
		bar = strings.Repeat("█", int((ms*cells+longest/2)/longest))
	}
	if median != nil {
		middle = took(*median)
		if *median > 0 {
			ratio = fmt.Sprintf("%.1f×", float64(ms)/float64(*median))
		}
	}
	return []string{name, bar, took(ms), middle, ratio}
}

func took(ms int64) string { return words.Took(time.Duration(ms) * time.Millisecond) }
