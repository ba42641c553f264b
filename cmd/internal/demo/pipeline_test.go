package demo

import (
	"fmt"
	"strings"
	"testing"

	"github.com/understudyd/understudy/cmd/internal/show"
	"github.com/understudyd/understudy/cmd/internal/term"
)

// The begin and the end of a long text are shown: a prompt ends with the approval note.
func TestMiddleOut(t *testing.T) {
	t.Parallel()
	d := &demo{Watcher: show.NewWatcher(&term.UI{})}
	var lines []string
	for i := range 40 {
		lines = append(lines, fmt.Sprint(i))
	}
	equal(t, `d.middleOut(strings.Join(lines, "\n")+"\n", 9)`, d.middleOut(strings.Join(lines, "\n")+"\n", 9), "0\n1\n2\n3\n4\n5\n(31 more lines)\n37\n38\n39")
	const short = "# Head\n\n- one\n- two"
	equal(t, "d.middleOut(short, 4)", d.middleOut(short, 4), short)
	if got, want := d.middleOut(strings.Repeat("words ", 30), 4), strings.Repeat("words ", 17)+"words\n"+strings.Repeat("words ", 11)+"words"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
