package words

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Unit is a unit of ages. Age uses it for ages below Below. The dashboard sends the units to the browser, so that the
// browser updates ages in the same words.
type Unit struct {
	Below int64 // seconds
	Per   int64 // seconds in one unit
	Name  string
}

// AgeUnits returns the units of [Age], the shortest first.
func AgeUnits() []Unit {
	return []Unit{{2 * 60, 1, "s"}, {2 * 3600, 60, "min"}, {48 * 3600, 3600, "h"}, {1 << 40, 24 * 3600, "days"}}
}

// Age writes the time since or until an event, for a quick look: "90 s", "3 min", "2 h", "12 days".
func Age(d time.Duration) string {
	s := int64(max(d, 0) / time.Second)
	for _, u := range AgeUnits() {
		if s < u.Below {
			return fmt.Sprintf("%d %s", s/u.Per, u.Name)
		}
	}
	return "" // no duration is this long
}

// Ago writes the time since t. If t is 30 days ago or more, Ago writes the date of t.
func Ago(t time.Time) string {
	switch d := time.Since(t); {
	case d < time.Second:
		return "now"
	case d < 30*24*time.Hour:
		return Age(d) + " ago"
	}
	return t.Local().Format(time.DateOnly)
}

// Took writes a measured duration, exactly enough to compare two: "0.06 s", "3 min 5 s", "2 h 10 min".
func Took(d time.Duration) string {
	switch d = max(d, 0); {
	case d < 2*time.Minute:
		return fmt.Sprintf("%.2f s", d.Seconds())
	}
	return Total(d)
}

// Total writes a time that was added up, such as what an agent has waited on a day: "0 s", "1 min 44 s", "2 h 10 min".
func Total(d time.Duration) string {
	if d = max(d, 0); d < time.Hour {
		return Span(d.Round(time.Second))
	}
	return Span(d.Round(time.Minute))
}

// Span writes a duration that a person has chosen, such as a limit, in full: "0.5 s", "15 min", "1 h 30 min".
func Span(d time.Duration) string {
	var parts []string
	if h := d / time.Hour; h > 0 {
		parts = append(parts, fmt.Sprintf("%d h", h))
	}
	if m := d % time.Hour / time.Minute; m > 0 {
		parts = append(parts, fmt.Sprintf("%d min", m))
	}
	if s := d % time.Minute; s > 0 || len(parts) == 0 {
		parts = append(parts, strconv.FormatFloat(max(s, 0).Seconds(), 'f', -1, 64)+" s")
	}
	return strings.Join(parts, " ")
}

// Stamp writes a point in time in full, in local time; "" for the zero time.
func Stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Local().Format("2006-01-02 15:04:05 MST")
}

// Tokens writes a number of tokens: "900", "86k", "1.5M". k is 1000, as in the sizes of context windows.
func Tokens(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprint(n)
	case n < 999_500:
		return fmt.Sprintf("%.0fk", float64(n)/1000)
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", float64(n)/1e6), ".0") + "M"
}

// Percent writes a percentage. share is between 0 and 100: "76 %".
func Percent(share float64) string { return fmt.Sprintf("%.0f %%", share) }

// Size writes a number of bytes: "1 byte", "1.2 kB", "3.4 MB".
func Size(n int64) string {
	switch {
	case n < 1000:
		return Count(n, "byte")
	case n < 999_950:
		return fmt.Sprintf("%.1f kB", float64(n)/1000)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}

// Count writes a number of things: "1 step", "2 steps".
func Count[N ~int | ~int64](n N, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}

// Spark draws shares, each between 0 and 1, as a line of blocks of different heights.
func Spark(shares []float64) string {
	const blocks = "▁▂▃▄▅▆▇█"
	levels := []rune(blocks)
	out := make([]rune, len(shares))
	for i, share := range shares {
		out[i] = levels[int(min(max(share, 0), 1)*float64(len(levels)-1)+0.5)]
	}
	return string(out)
}
