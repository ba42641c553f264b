// Package limittext reads what a text says of a limit: whether an account has used up what it may use, or the API only refuses requests for
// the moment; and when the limit ends. It is pure and knows none of ours.
package limittext

import (
	"regexp"
	"slices"
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
// returns false if the text names no time that it understands. It is the only place that reads such a time from a text;
// testdata/limits.tsv has texts and what is read from them.
func ReadReset(text string, at time.Time, local *time.Location, zone func(name string) (*time.Location, error)) (time.Time, bool) {
	text, chinese := inEnglish(text)
	if chinese { // the gateways that write so have the clock of China
		local = china
	}
	text = strings.Join(strings.Fields(text), " ")
	lower := lowerASCII(text)
	if m := afterMilliseconds().FindStringSubmatch(lower); m != nil {
		t := at.Add(time.Duration(number(m[1])) * time.Millisecond)
		return t.UTC(), believable(t, at)
	}
	if m := unixReset().FindStringSubmatch(lower); m != nil {
		n, _ := strconv.ParseInt(m[1], 10, 64)
		return ResetAt(n, at)
	}
	for _, m := range announced().FindAllStringIndex(lower, -1) {
		p := resetText{text: text[m[1]:], lower: lower[m[1]:], at: at, local: local, zone: zone, window: windowOf(lower), behindAt: strings.HasSuffix(lower[:m[1]], "at")}
		if t, found, ok := p.read(); found {
			return t.UTC(), ok && believable(t, at)
		}
	}
	if m := afterSeconds().FindStringSubmatch(lower); m != nil {
		t := at.Add(time.Duration(number(m[1])) * time.Second)
		return t.UTC(), believable(t, at)
	}
	return time.Time{}, false
}

func believable(t, at time.Time) bool {
	return !t.Before(at.Add(-resetSlack)) && !t.After(at.Add(maxReset))
}

// lowerASCII puts the letters A to Z in lower case, and so keeps the place of each byte.
func lowerASCII(text string) string {
	b := []byte(text)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

var (
	afterMilliseconds = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`retry-after-ms=(\d{1,12})`) })
	// afterSeconds matches a header or a field that counts seconds.
	afterSeconds = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?:retry[-_]after(?:[-_]seconds)?|resets?[-_](?:in|after)[-_]seconds)["'\\]*[:= ]+["'\\]*(\d{1,7})s?(?:["'\\,;})\]]|\.?$| )`)
	})
	// unixReset matches seconds or milliseconds since 1970, behind a word about a reset or behind the bar of an older Claude Code.
	unixReset = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?:reset[a-z_-]*["'\\]*(?: at|[ :=])[ :=]*["'\\]*|reached\|)(\d{10}|\d{13})\b`)
	})
	// announced matches the words that announce when a limit ends.
	announced = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\b(?:reset(?:s|ting)?(?:[_ ]?(?:at|time))?["'\\]*|again|retry|retrying|available|access|until|(?:renew|refresh)(?:s|es|ed)?|resumes?|restored|lifted|unlocks?|ends|back)\b["'\\]*`)
	})
	// window matches how long the limit lasts at most.
	window = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\b(\d{1,2})[ -]?(?:hours?|h)\b`) })
)

// windowOf returns how long the limit of a text lasts at most; 0: it does not say.
func windowOf(lower string) time.Duration {
	if m := window().FindStringSubmatch(lower); m != nil && strings.Contains(lower, "limit") {
		return time.Duration(number(m[1])) * time.Hour
	}
	return 0
}

// IsUsageLimit reports whether the text of an error is about a limit of an account or of a model, which ends at some time or
// when somebody pays: "You've hit your 5-hour limit · resets 7:08am (UTC)". If it is not, the API only refuses requests for
// the moment: "API Error: Request rejected (429)". The CLIs have the same word, rate_limit, for both.
func IsUsageLimit(text string) bool {
	text, _ = inEnglish(text)
	lower := strings.ToLower(strings.ReplaceAll(text, "’", "'"))
	lower = address().ReplaceAllString(lower, "") // it may name a page about quotas
	switch {
	case HasAny(lower, Momentary):
		return false
	case HasAny(lower, usageLimits), longLimit().MatchString(lower):
		return true
	}
	return !strings.HasPrefix(lower, "api error") && !strings.Contains(lower, "rate limit") &&
		HasAny(lower, []string{"limit", "credits", "allowance"}) && HasAny(lower, []string{"reset", "renew"})
}

// EndsByItself reports whether a text about a limit says that it ends without anybody's doing.
func EndsByItself(text string) bool {
	return IsUsageLimit(text) && strings.Contains(strings.ToLower(text), "reset")
}

// IsSpendingLimit reports whether a request was refused because of the limit that an organization has set itself at Anthropic.
func IsSpendingLimit(text string) bool {
	return strings.Contains(strings.ToLower(text), "you will regain access on")
}

func HasAny(text string, parts []string) bool {
	return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(text, part) })
}

var (
	address = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`https?://\S*`) })
	// longLimit matches words about a limit of an hour or more: "weekly rate limit", "tokens per day (TPD)", "daily call limit".
	longLimit = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\b(?:hourly|daily|weekly|monthly)(?: [a-z]+){0,2} limit|\b(?:tpd|rpd)\b`)
	})
	// usageLimits are parts of texts about a limit of an account or of a model.
	usageLimits = []string{
		"usage limit", "usage_limit", "usage exceeded", "hit your", "reached your", "out of usage", "out of credits", "out of extra usage",
		"session limit", "5-hour limit", "weekly/monthly limit", "limit exhausted", "limit will reset",
		"exhausted your", "quota", "per-day", "per day", "perday", "billing cycle", "token limit reached", "model limit reached", "key limit exceeded",
		"budget has been exceeded", "exceededbudget",
	}
	// Momentary are parts of texts about a limit that is over in a minute, whatever else they say.
	Momentary = []string{"per minute", "per-minute", "perminute", "per_minute", "per-min", "per min", "per second", "per-second", "persecond", "(tpm)", "(rpm)", "concurren", "parallel", "e.g. check quota",
		"aiplatform.googleapis.com/", "not your usage limit", "temporarily"}
)
