package dashboard

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/calendar"
	"github.com/understudyd/understudy/daemon/pictures"
	"github.com/understudyd/understudy/daemon/words"
)

// The pictures are SVG of which the width is that of the page: what stands next to each other is placed in percent, and what
// stands below each other in pixels. So a text has the same size on every screen. A curve is drawn in a part that is stretched
// to the width, and has breadths of stretched in it.
const stretched = 1000

// axis is the time from left to right.
type axis struct{ from, until time.Time }

// share returns where a time is, from 0 to 1.
func (a axis) share(t time.Time) float64 {
	whole := a.until.Sub(a.from)
	if whole <= 0 {
		return 0
	}
	return min(max(float64(t.Sub(a.from))/float64(whole), 0), 1)
}

// percent writes a share for an attribute such as x.
func percent(share float64) string { return decimal(100*share) + "%" }

// decimal writes a number with at most two digits after the point.
func decimal(v float64) string { return strconv.FormatFloat(math.Round(v*100)/100, 'f', -1, 64) }

// tick is a mark on an axis of time. The browser writes its text again, in its own time zone.
type tick struct {
	X      string
	At     time.Time
	Text   string
	Days   bool   // it names a day; the others name a time of the day
	Odd    bool   // it has no text on a narrow screen
	Anchor string // which part of the text stands at X
}

// steps are the distances of ticks.
var steps = []time.Duration{
	time.Second, 5 * time.Second, 15 * time.Second, time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour, 3 * time.Hour, 6 * time.Hour,
	24 * time.Hour, 2 * 24 * time.Hour, 7 * 24 * time.Hour,
}

// ticks returns marks at round times of the daemon's clock.
func (a axis) ticks() (out []tick) {
	const most = 8
	step := steps[len(steps)-1]
	for _, s := range steps {
		if a.until.Sub(a.from) <= most*s {
			step = s
			break
		}
	}
	begins := a.from.Local()
	y, m, d := begins.Date()
	hour := 0
	if step < time.Hour {
		hour = begins.Hour()
	}
	for i := 0; ; i++ {
		var at time.Time
		if days := int(step / (24 * time.Hour)); days > 0 {
			at = calendar.DayBegins(begins, i*days)
		} else {
			at = time.Date(y, m, d, hour, 0, i*int(step/time.Second), 0, time.Local)
		}
		switch {
		case at.Before(a.from):
			continue
		case at.After(a.until):
			return out
		}
		share := a.share(at)
		t := tick{X: percent(share), At: at, Days: step >= 24*time.Hour, Odd: len(out)%2 == 1, Anchor: "middle", Text: at.Format("15:04")}
		if step < time.Minute {
			t.Text = at.Format("15:04:05")
		}
		if t.Days || at.Hour() == 0 && at.Minute() == 0 && at.Second() == 0 {
			t.Text = at.Format("01-02")
		}
		if share < 0.05 {
			t.Anchor = "start"
		} else if share > 0.95 {
			t.Anchor = "end"
		}
		out = append(out, t)
	}
}

// stripe is a part of a row, in shares of the width.
type stripe struct{ from, until float64 }

// stripes returns where spans stand, each at least as wide as least. It joins those that cannot be told apart, so that a row
// has a bounded number of them, however much happened.
func (a axis) stripes(spans []pictures.Span, state daemon.AgentState, least float64) (out []stripe) {
	const apart = 1.0 / stretched
	for i := range spans {
		if spans[i].State != state {
			continue
		}
		from, until := a.share(spans[i].From), a.share(spans[i].Until)
		if until-from < least {
			until = min(from+least, 1)
			from = until - least
		}
		if last := len(out) - 1; last >= 0 && from-out[last].until < apart {
			out[last].until = max(out[last].until, until)
		} else {
			out = append(out, stripe{from, until})
		}
	}
	return out
}

// X and W write a stripe for the attributes of a rectangle.
func (s stripe) X() string { return percent(s.from) }
func (s stripe) W() string { return percent(s.until - s.from) }

// pathOf writes stripes as one path of the stretched part, whose height is 1.
func pathOf(stripes []stripe) string {
	var b strings.Builder
	for _, s := range stripes {
		fmt.Fprintf(&b, "M%s 0h%sv1H%sz", decimal(stretched*s.from), decimal(stretched*(s.until-s.from)), decimal(stretched*s.from))
	}
	return b.String()
}

// point is a point of a curve, in the stretched part. Its y is 0 for a full window.
type point struct{ x, y float64 }

// curve returns how full a window was. Of samples that cannot be told apart, it takes the newest.
func (a axis) curve(samples []daemon.ContextSample) (out []point) {
	for i := range samples {
		s := &samples[i]
		if s.Percent == nil {
			continue
		}
		p := point{math.Round(stretched * a.share(s.At)), 100 - min(max(*s.Percent, 0), 100)}
		if last := len(out) - 1; last >= 0 && out[last].x == p.x {
			out[last] = p
		} else {
			out = append(out, p)
		}
	}
	return out
}

// polyline writes points for the attribute of a line.
func polyline(points []point) string {
	var b strings.Builder
	for i, p := range points {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(decimal(p.x) + "," + decimal(p.y))
	}
	return b.String()
}

// key is an entry of a legend: what a colour stands for, and its number.
type key struct{ State, Text string }

// secs writes seconds for people; "–": none.
func secs(s float64) string {
	if s == 0 {
		return "–"
	}
	return words.Total(time.Duration(s * float64(time.Second)))
}
