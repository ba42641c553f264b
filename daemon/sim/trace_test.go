package sim

import (
	"fmt"
	"hash/fnv"
	"strings"
	"time"
)

// trace lists what happened, in order. Two runs of a seed have equal traces.
type trace struct {
	began time.Time
	hide  *strings.Replacer // replaces the path of the folder, which differs from run to run
	lines []line
}

type line struct {
	at    time.Duration
	who   string
	what  string
	shown bool // part of the timeline, which people read
}

// call adds a call that the schedule lets go. The timeline shows a call that only reads if it goes wrong.
func (t *trace) call(c *call, o order) {
	text := c.what
	switch {
	case o.cut != nil:
		text += fmt.Sprintf("  ✗ cut off (%s) %s", o.cut, o.fault)
	case o.fault != none:
		text += "  ✗ " + string(o.fault)
	}
	shown := o.fault != none && o.cut == nil || c.kind == typing || c.kind == sending
	t.add(strings.TrimSpace(c.own.name+" "+c.who), text, shown)
}

// note adds a line to the timeline.
func (t *trace) note(who, format string, args ...any) { t.add(who, fmt.Sprintf(format, args...), true) }

func (t *trace) add(who, what string, shown bool) {
	if t.hide != nil {
		what = t.hide.Replace(what)
	}
	t.lines = append(t.lines, line{time.Since(t.began), who, what, shown})
}

// sum returns a short text that is the same for equal traces.
func (t *trace) sum() string {
	h := fnv.New64a()
	for i := range t.lines {
		_, _ = fmt.Fprintln(h, t.lines[i].String()) // never fails
	}
	return fmt.Sprintf("%016x of %d lines", h.Sum64(), len(t.lines))
}

func (l line) String() string { return fmt.Sprintf("%11.6f  %-28s %s", l.at.Seconds(), l.who, l.what) }
