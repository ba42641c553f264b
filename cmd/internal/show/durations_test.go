package show

import (
	"bytes"
	"testing"

	"github.com/understudyd/understudy/cmd/internal/term"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/pictures"
)

// TestDescribeDurations: each phase has its time, the median of the others, how they relate, and a bar; a handoff without
// others to compare it with has none of that.
func TestDescribeDurations(t *testing.T) {
	t.Parallel()
	ms := func(v int64) *int64 { return &v }
	var b bytes.Buffer
	d := pictures.Durations{TotalMS: 61_000, MedianMS: ms(40_000), Of: 3, Phases: []pictures.PhaseDuration{
		{Phase: daemon.Requested, MS: 10, MedianMS: ms(0), Of: 3}, {Phase: daemon.AwaitingDocument, MS: 60_000, MedianMS: ms(40_000), Of: 3}, {Phase: daemon.Spawning, MS: 30_000}}}
	if err := DescribeDurations(&term.UI{Out: &b}, &d); err != nil {
		t.Fatal(err)
	}
	if want := `
beside the median of 3 other completed handoffs
PHASE                                TIME     MEDIAN   RATIO
requested                            0.01 s   0.00 s   -
awaiting document  ████████████████  60.00 s  40.00 s  1.5×
spawning           ████████          30.00 s  -        -
total                                61.00 s  40.00 s  1.5×
`; b.String() != want {
		t.Errorf("got:\n%s\nwant:\n%s", b.String(), want)
	}
	b.Reset()
	if err := DescribeDurations(&term.UI{Out: &b}, &pictures.Durations{}); err != nil || b.Len() != 0 {
		t.Errorf("%q (%v)", b.String(), err)
	}
}
