package transcript

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

// linesBackward returns the lines of a text as backward reads them, and how many were too long.
func linesBackward(t *testing.T, text string, b backward) (lines []string, long int) {
	t.Helper()
	b.r, b.off = strings.NewReader(text), int64(len(text))
	for {
		line, err := b.next(t.Context())
		if errors.Is(err, io.EOF) {
			return lines, b.long
		}
		if err != nil {
			t.Fatalf("%.40q: %v", text, err)
		}
		lines = append(lines, string(line))
	}
}

// The texts have line breaks at, before and behind every border of a chunk.
func TestBackwardReadsEveryLineAtAnyChunkSize(t *testing.T) {
	t.Parallel()
	const most = 20
	texts := []string{"", "\n", "\n\n", "a", "a\n", "\na", "a\n\n \nb", "a\r\nb\r\n", "\r\n"}
	for size := range 3 * most {
		line := strings.Repeat("x", size)
		texts = append(texts, line, line+"\n", "a\n"+line+"\nb", line+"\r\n"+line+"y\n"+line+"zz", strings.Repeat(line+"\n", 3))
	}
	for _, text := range texts {
		var want []string
		long := 0
		for line := range strings.SplitSeq(text, "\n") {
			if len(line) > most {
				long++
			} else if line = strings.TrimSpace(line); line != "" {
				want = append(want, line)
			}
		}
		slices.Reverse(want)
		for _, chunk := range []int{1, 2, 3, 7, most - 1, most, most + 1, 1000} {
			got, gotLong := linesBackward(t, text, backward{chunk: chunk, max: most})
			if !slices.Equal(got, want) || gotLong != long {
				t.Fatalf("%q by %d:\ngot  %q, %d too long\nwant %q, %d", text, chunk, got, gotLong, want, long)
			}
		}
	}
}

func TestBackwardLeavesOutALineThatMayBeginBeforeTheFloor(t *testing.T) {
	t.Parallel()
	for floor, want := range []string{"c b a", "c b", "c", "c", "", ""} {
		got, _ := linesBackward(t, "a\nb\nc", backward{floor: int64(floor), chunk: 2, max: 9})
		wardentest.Equal(t, fmt.Sprint(floor), fmt.Sprint(got), "["+want+"]")
	}
}

func TestBackwardFailsIfTheFileShrinksOrTimeIsOver(t *testing.T) {
	t.Parallel()
	b := backward{r: strings.NewReader("a\nb"), off: 9, chunk: 4, max: 9}
	wardentest.Failed(b.next(t.Context()))(t, "a file that became shorter", io.ErrUnexpectedEOF)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("no time left"))
	b = backward{r: strings.NewReader("a\nb"), off: 3, chunk: 4, max: 9}
	if line, err := b.next(ctx); err == nil || err.Error() != "no time left" {
		t.Errorf("without time: %q, %v", line, err)
	}
}
