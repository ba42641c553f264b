package runtimes

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	// resetSlack is how long before a moment a time of day may lie and still stand for that day: a text names the minute
	// in which the limit ends, and the CLI may show the text a little later.
	resetSlack = 10 * time.Minute
	// maxReset is the longest limit that is believed. A time further ahead was not read as it was meant.
	maxReset = 45 * 24 * time.Hour
)

// ResetAt returns the time that a runtime gives in Unix seconds, or in milliseconds. It returns false if that is not a time
// at which a limit may end that the runtime reported at the time at.
func ResetAt(unix int64, at time.Time) (time.Time, bool) {
	const milliseconds = 100_000_000_000 // in seconds this would be the year 5138
	t := time.Unix(unix, 0)
	if unix >= milliseconds {
		t = time.UnixMilli(unix)
	}
	return t.UTC(), unix > 0 && believable(t, at)
}

// ReadReset reads from the text about a limit when the limit ends. at is when the runtime showed the text. local is the
// zone of a time without a zone, and zone finds the zone of a name in the text, as [time.LoadLocation] does. ReadReset
// returns false if the text names no time that it understands.
//
// It reads texts such as "resets 7:08am (UTC)", "resets Nov 27, 5pm (Europe/Berlin)", "try again at 6:40 AM.", "try again
// in 3 hours 5 minutes" and "retry-after-ms=7200000".
func ReadReset(text string, at time.Time, local *time.Location, zone func(name string) (*time.Location, error)) (time.Time, bool) {
	t, ok := readReset(strings.ToLower(strings.Join(strings.Fields(text), " ")), text, at, local, zone)
	return t.UTC(), ok && believable(t, at)
}

func believable(t, at time.Time) bool {
	return !t.Before(at.Add(-resetSlack)) && !t.After(at.Add(maxReset))
}

var (
	afterMilliseconds = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`retry-after-ms=(\d{1,12})`) })
	afterSpan         = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\b(?:again|resets?|retry|retrying|available) in ((?:(?:and )?\d{1,6} ?(?:days?|d|hours?|hrs?|h|minutes?|mins?|m|seconds?|secs?|s)\b,? ?)+)`)
	})
	spanPart = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(\d+) ?([dhms])`) })
	// resetTime matches a time after the word that announces it: an optional date, then a time of day, then an optional
	// zone. Without a time of day there must be a date.
	resetTime = sync.OnceValue(func() *regexp.Regexp {
		const date = `(?:(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.? (\d{1,2})(?:st|nd|rd|th)?(?:,? (\d{4}))?)`
		const clock = `(?:(\d{1,2})(?::(\d{2})(?::\d{2})?)? ?(am|pm)?)`
		return regexp.MustCompile(`\b(?:resets?|again)(?: at| on)? (?:` + date + `(?:,? at|,)? ?)?` + clock + `?(?: ?\(([a-z0-9_+/-]+)\))?`)
	})
)

// readReset is ReadReset for a text in lower case, with the original text for the names of zones.
func readReset(lower, text string, at time.Time, local *time.Location, zone func(string) (*time.Location, error)) (time.Time, bool) {
	if m := afterMilliseconds().FindStringSubmatch(lower); m != nil {
		return at.Add(time.Duration(number(m[1])) * time.Millisecond), true
	}
	if m := afterSpan().FindStringSubmatch(lower); m != nil {
		return at.Add(span(m[1])), true
	}
	for _, m := range resetTime().FindAllStringSubmatch(lower, -1) {
		r := reset{month: m[1], day: number(m[2]), year: number(m[3]), clock: m[4], minute: number(m[5]), half: m[6]}
		if r.month == "" && r.half == "" && m[5] == "" {
			continue // a bare number is no time
		}
		where := local
		if m[7] != "" {
			var err error
			if where, err = zone(original(text, m[7])); err != nil {
				return time.Time{}, false
			}
		}
		return r.in(where, at)
	}
	return time.Time{}, false
}

// reset is a time as a text names it.
type reset struct {
	month     string // "": no date
	day, year int    // year 0: the text names none
	clock     string // the hour; "": no time of day
	minute    int
	half      string // am or pm; "": of 24 hours
}

var months = []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}

// in returns the time in a zone: the first one that is not before at, apart from the slack.
func (r reset) in(where *time.Location, at time.Time) (time.Time, bool) {
	hour := number(r.clock)
	switch {
	case r.half != "" && (hour < 1 || hour > 12), hour > 23, r.minute > 59:
		return time.Time{}, false
	case r.half != "":
		hour %= 12
		if r.half == "pm" {
			hour += 12
		}
	}
	now, earliest := at.In(where), at.Add(-resetSlack)
	if r.month == "" {
		t := time.Date(now.Year(), now.Month(), now.Day(), hour, r.minute, 0, 0, where)
		if t.Before(earliest) {
			t = time.Date(now.Year(), now.Month(), now.Day()+1, hour, r.minute, 0, 0, where)
		}
		return t, true
	}
	month, year := time.January, r.year
	for i, name := range months {
		if name == r.month {
			month = time.Month(i + 1)
		}
	}
	if year == 0 {
		year = now.Year()
	}
	t := time.Date(year, month, r.day, hour, r.minute, 0, 0, where)
	if r.year == 0 && t.Before(earliest) {
		t = time.Date(year+1, month, r.day, hour, r.minute, 0, 0, where)
	}
	return t, t.Day() == r.day // a day that the month does not have becomes another one
}

// span adds up the parts of a length of time such as "3 hours 5 minutes".
func span(text string) (all time.Duration) {
	units := map[string]time.Duration{"d": 24 * time.Hour, "h": time.Hour, "m": time.Minute, "s": time.Second}
	for _, m := range spanPart().FindAllStringSubmatch(text, -1) {
		all += time.Duration(number(m[1])) * units[m[2]]
	}
	return all
}

// original returns a part of a text as it was before the text was put into lower case.
func original(text, lower string) string {
	if i := strings.Index(strings.ToLower(text), lower); i >= 0 && i+len(lower) <= len(text) {
		return text[i : i+len(lower)]
	}
	return lower
}

// number returns the value of digits; 0 for "".
func number(digits string) int {
	n, _ := strconv.Atoi(digits)
	return n
}
