package limittext

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// resetText is what follows the word that announces when a limit ends.
type resetText struct {
	text, lower string // the same text; lower has no capitals
	at          time.Time
	local       *time.Location
	zone        func(name string) (*time.Location, error)
	behindAt    bool          // "at" stands before the text
	window      time.Duration // how long the limit lasts at most; 0: not known
}

// reset is a time as a text names it.
type reset struct {
	year       int        // 0: the text names none
	month      time.Month // 0: the text names no date
	day        int
	weekday    int // from 0, Sunday; -1: none
	ahead      int // days from today, for "tomorrow"; -1: the text does not say
	night      bool
	timed      bool
	hour, min  int
	sec        int
	where      *time.Location // nil: the text names no zone
	badZone    bool
	impossible bool // no clock shows this
}

// patterns of the parts of a time, each at the beginning of what is still to be read.
var (
	filler = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(?:[ ,:=·()"'\\_-]+|(?:at|on|in|um|by|after|is|the|time|your|limit|quota|will|be|it|its|from|next|morning|evening|afternoon|about|approximately|around)\b)`)
	})
	spanLead = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^[ ("'\\:=_-]*(?:at |on )?(?:in|after|within)[ :=]+(?:about |approximately |around |less than |under |~ ?)?`)
	})
	spanPart = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(?:,? ?(?:and )?)(\d{1,6}(?:\.\d+)?|half an?|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve) ?(weeks?|w|days?|d|hours?|hrs?|hr|h|minutes?|mins?|min|m|seconds?|secs?|sec|s|ms)(?:\b|[0-9])`)
	})
	spanClock = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(\d{1,2}):(\d{2}):(\d{2})\b`) })
	isoDate   = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(\d{4})[-/](\d{1,2})[-/](\d{1,2})(?:t|[ ,]+(?:at )?|$)`)
	})
	monthDay = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^` + monthNames + `\.? (\d{1,2})(?:st|nd|rd|th)?\b(?:,? (\d{4})\b)?`)
	})
	dayMonth = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(\d{1,2})(?:st|nd|rd|th)?(?: of)? ` + monthNames + `\b\.?(?:,? (\d{4})\b)?`)
	})
	// numericDate matches 27.11.2026 and 11/27/2026.
	numericDate = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(\d{1,2})(?:(\.)(\d{1,2})\.(\d{4}\b)?|/(\d{1,2})(?:/(\d{4}))?\b)`)
	})
	weekday   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(sun|mon|tue|wed|thu|fri|sat)[a-z]*\b\.?`) })
	dayWord   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(today|tonight|tomorrow)\b`) })
	clockWord = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(midnight|noon)\b`) })
	bareHour  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(\d{1,2})(?:$|[ ).,;])`) })
	clock     = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(\d{1,2})(?:[:.](\d{2})(?::(\d{2})(?:\.\d+)?)?)? ?(am|pm|a\.m\.|p\.m\.)?(h|uhr)?(?:\b|$|[ ).,]|z\b)`)
	})
)

const monthNames = `(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*`

// read reads the time at the beginning of the text. found is false if there is none; ok is false if it cannot be meant.
func (p *resetText) read() (t time.Time, found, ok bool) {
	if d, is := p.span(); is {
		return p.at.Add(d), true, true
	}
	r := reset{weekday: -1, ahead: -1}
	if !p.date(&r) {
		return time.Time{}, false, false
	}
	switch {
	case r.impossible, r.badZone:
		return time.Time{}, true, false
	case r.where != nil:
		t, ok = r.in(r.where, p.at)
		return t, true, ok
	}
	t, ok = p.guess(&r)
	return t, true, ok
}

// guess returns a time of which the text names no zone: that of this machine. If the limit would then last longer than it can, the
// time is that of another clock: UTC, or that of z.ai.
func (p *resetText) guess(r *reset) (time.Time, bool) {
	t, ok := r.in(p.local, p.at)
	if !ok || p.window == 0 || r.year == 0 {
		return t, ok
	}
	for _, where := range []*time.Location{p.local, time.UTC, time.FixedZone("UTC+8", 8*3600)} {
		if u, fits := r.in(where, p.at); fits && !u.Before(p.at.Add(-resetSlack)) && !u.After(p.at.Add(p.window+resetSlack)) {
			return u, true
		}
	}
	return t, ok
}

// take returns the groups of a pattern at the beginning of the text, and goes on behind it.
func (p *resetText) take(pattern *regexp.Regexp) []string {
	m := pattern.FindStringSubmatch(p.lower)
	if m != nil {
		p.skip(len(m[0]))
	}
	return m
}

func (p *resetText) skip(n int) { p.text, p.lower = p.text[n:], p.lower[n:] }

// fill skips words that say nothing of the time. at: the last one is "at", behind which an hour may stand.
func (p *resetText) fill() (at bool) {
	for m := p.take(filler()); m != nil; m = p.take(filler()) {
		at = m[0] == "at" || at && strings.TrimSpace(m[0]) == ""
	}
	return at
}

// span reads a length of time such as "in 3 hours 5 minutes" or "after 18h33m12s".
func (p *resetText) span() (all time.Duration, ok bool) {
	rest := *p
	if rest.take(spanLead()) == nil {
		return 0, false
	}
	if m := spanClock().FindStringSubmatch(rest.lower); m != nil {
		return time.Duration(number(m[1]))*time.Hour + time.Duration(number(m[2]))*time.Minute + time.Duration(number(m[3]))*time.Second, true
	}
	for {
		m := spanPart().FindStringSubmatch(rest.lower)
		if m == nil {
			break
		}
		n := amount(m[1])
		unit := map[byte]time.Duration{'w': 7 * 24 * time.Hour, 'd': 24 * time.Hour, 'h': time.Hour, 'm': time.Minute, 's': time.Second}[m[2][0]]
		if m[2] == "ms" {
			unit = time.Millisecond
		}
		all, ok = all+time.Duration(n*float64(unit)), true
		end := len(m[0])
		if last := m[0][end-1]; '0' <= last && last <= '9' { // the next part's first digit
			end--
		}
		rest.skip(end)
	}
	return all, ok
}

// amount returns the value of digits or of a word for a number.
func amount(text string) float64 {
	small := []string{"one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"}
	n, err := strconv.ParseFloat(text, 64)
	switch i := slices.Index(small, text); {
	case strings.HasPrefix(text, "half"):
		return 0.5
	case i >= 0:
		return float64(i + 1)
	case err != nil: // "an hour"
		return 1
	}
	return n
}

// date reads a date, a time of day, or both, in any order, and a zone. It returns false if there is neither.
func (p *resetText) date(r *reset) bool {
	found := false
	for i := range 6 {
		at := p.fill() || i == 0 && p.behindAt
		switch {
		case r.month == 0 && p.calendar(r), r.weekday < 0 && p.takeWeekday(r), r.ahead < 0 && p.dayWord(r):
			p.readZone(r)
		case !r.timed && (p.clock(r) || p.bareHour(r, at)):
		default:
			return found
		}
		found = true
	}
	return found
}

// calendar reads a date with a month.
func (p *resetText) calendar(r *reset) bool {
	if m := p.take(isoDate()); m != nil {
		r.year, r.month, r.day = number(m[1]), time.Month(number(m[2])), number(m[3])
		r.impossible = r.impossible || r.month < 1 || r.month > 12
		return true
	}
	if m := p.take(monthDay()); m != nil {
		r.month, r.day, r.year = monthOf(m[1]), number(m[2]), number(m[3])
		return true
	}
	if m := p.take(dayMonth()); m != nil {
		r.month, r.day, r.year = monthOf(m[2]), number(m[1]), number(m[3])
		return true
	}
	m := p.take(numericDate())
	switch {
	case m == nil:
		return false
	case m[2] == ".":
		r.day, r.month, r.year = number(m[1]), time.Month(number(m[3])), number(m[4])
	default: // the United States have the month first, others the day
		first, second := number(m[1]), number(m[5])
		r.impossible = r.impossible || first <= 12 && second <= 12 && first != second
		r.month, r.day, r.year = time.Month(min(first, second)), max(first, second), number(m[6])
	}
	r.impossible = r.impossible || r.month < 1 || r.month > 12
	return true
}

func (p *resetText) takeWeekday(r *reset) bool {
	m := p.take(weekday())
	if m != nil {
		r.weekday = strings.Index("sunmontuewedthufrisat", m[1]) / 3
	}
	return m != nil
}

func (p *resetText) dayWord(r *reset) bool {
	m := p.take(dayWord())
	if m != nil {
		if r.ahead, r.night = 0, m[1] == "tonight"; m[1] == "tomorrow" {
			r.ahead = 1
		}
	}
	return m != nil
}

// bareHour reads an hour without minutes, am or pm. A number is one only if a day and a zone, or "at" and one of them, stand with it.
func (p *resetText) bareHour(r *reset, at bool) bool {
	m := bareHour().FindStringSubmatch(p.lower)
	if m == nil || number(m[1]) > 23 {
		return false
	}
	rest, zoned := *p, *r
	rest.skip(len(m[1]))
	rest.readZone(&zoned)
	signs := 0
	for _, sign := range []bool{at, r.month != 0 || r.weekday >= 0 || r.ahead >= 0, zoned.where != nil || zoned.badZone} {
		if sign {
			signs++
		}
	}
	if signs < 2 {
		return false
	}
	*p, *r = rest, zoned
	if r.timed, r.hour = true, number(m[1]); r.night && r.hour < 12 {
		r.hour += 12
	}
	return true
}

// clock reads a time of day with its zone. A bare number is none.
func (p *resetText) clock(r *reset) bool {
	if m := p.take(clockWord()); m != nil {
		if r.timed = true; m[1] == "noon" {
			r.hour = 12
		}
		p.readZone(r)
		return true
	}
	m := clock().FindStringSubmatch(p.lower)
	if m == nil || m[2] == "" && m[4] == "" && m[5] == "" {
		return false
	}
	n := len(m[0])
	if strings.ContainsAny(m[0][n-1:], " ).,z") {
		n--
	}
	p.skip(n)
	r.timed, r.hour, r.min, r.sec = true, number(m[1]), number(m[2]), number(m[3])
	switch half := strings.ReplaceAll(m[4], ".", ""); {
	case half != "" && (r.hour < 1 || r.hour > 12), r.hour > 23, r.min > 59, r.sec > 59:
		r.impossible = true
	case half != "":
		if r.hour %= 12; half == "pm" {
			r.hour += 12
		}
	}
	p.readZone(r)
	return true
}

func monthOf(name string) time.Month {
	return time.Month(strings.Index("janfebmaraprmayjunjulaugsepoctnovdec", name)/3 + 1)
}

// in returns the time in a zone: the first one that is not before at, apart from the slack.
func (r *reset) in(where *time.Location, at time.Time) (time.Time, bool) {
	now, earliest := at.In(where), at.Add(-resetSlack)
	y, m, d := now.Date()
	switch {
	case r.month != 0:
		if y = r.year; y == 0 {
			y = now.Year() - 1
		}
		t := r.on(y, r.month, r.day, where)
		for r.year == 0 && y <= now.Year() && t.Before(earliest) {
			y++
			t = r.on(y, r.month, r.day, where)
		}
		// A day that the month does not have becomes another one.
		return t, time.Date(y, r.month, r.day, 12, 0, 0, 0, time.UTC).Day() == r.day
	case r.ahead >= 0:
		return r.on(y, m, d+r.ahead, where), true
	case r.weekday >= 0:
		days := (r.weekday - int(now.Weekday()) + 7) % 7
		t := r.on(y, m, d+days, where)
		if t.Before(earliest) {
			t = r.on(y, m, d+days+7, where)
		}
		return t, true
	}
	t := r.on(y, m, d, where)
	if t.Before(earliest) { // the same time may come twice in a night in which the clock is set back
		if again := t.Add(time.Hour); again.In(where).Hour() == t.In(where).Hour() && !again.Before(earliest) {
			return again, true
		}
		t = r.on(y, m, d+1, where)
	}
	return t, true
}

// on returns the time on a day. A time that the clock skips becomes the moment at which it is set.
func (r *reset) on(y int, m time.Month, d int, where *time.Location) time.Time {
	t := time.Date(y, m, d, r.hour, r.min, r.sec, 0, where)
	if t.Hour() == r.hour && t.Minute() == r.min {
		return t
	}
	begins, ends := t.ZoneBounds()
	if since := t.Sub(begins); !begins.IsZero() && since < 24*time.Hour {
		return begins
	}
	return ends
}

// number returns the value of digits; 0 for "".
func number(digits string) int {
	n, _ := strconv.Atoi(digits)
	return n
}
