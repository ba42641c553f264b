package runtimes

import (
	"fmt"
	"testing"
	"time"
)

// zones has the zones of the tests, so that these do not need the machine's database of zones.
func zones(name string) (*time.Location, error) {
	switch name {
	case "UTC":
		return time.UTC, nil
	case "Europe/Berlin":
		return time.FixedZone(name, 3600), nil
	case "America/New_York":
		return time.FixedZone(name, -5*3600), nil
	}
	return nil, fmt.Errorf("unknown zone %q", name)
}

func TestReadReset(t *testing.T) {
	at := time.Date(2026, 11, 23, 5, 30, 20, 0, time.UTC)
	local := time.FixedZone("here", 2*3600)
	for text, want := range map[string]string{
		"You've hit your 5-hour limit · resets 7:08am (UTC)":                                 "2026-11-23T07:08:00Z",
		"You've hit your 5-hour limit · resets 7:08am":                                       "2026-11-24T05:08:00Z", // 7:08 here is 5:08 UTC, which is over
		"You've hit your limit · resets 5:30am (UTC)":                                        "2026-11-23T05:30:00Z", // this very minute
		"You've hit your limit · resets 3am (UTC)":                                           "2026-11-24T03:00:00Z",
		"You've hit your limit · resets 12am (UTC)":                                          "2026-11-24T00:00:00Z",
		"You've hit your limit · resets 12:15pm (UTC)":                                       "2026-11-23T12:15:00Z",
		"You've hit your limit · resets 11pm (America/New_York)":                             "2026-11-24T04:00:00Z",
		"You've hit your weekly limit · resets Nov 27, 5pm (Europe/Berlin)":                  "2026-11-27T16:00:00Z",
		"You've hit your weekly limit · resets Nov 27 at 5:05pm (Europe/Berlin)":             "2026-11-27T16:05:00Z",
		"You've hit your weekly limit · resets Jan 2, 5pm (UTC)":                             "2027-01-02T17:00:00Z",
		"You've hit your weekly limit · resets Nov 30":                                       "2026-11-29T22:00:00Z",
		"You’ve hit your usage limit. Visit https://x.test to buy, or try again at 6:40 AM.": "2026-11-24T04:40:00Z",
		"You’ve hit your usage limit. Try again at Nov 25th, 2026 6:40 AM.":                  "2026-11-25T04:40:00Z",
		"You've hit your usage limit. Try again in 3 days 4 hours 5 minutes.":                "2026-11-26T09:35:20Z",
		"Please try again in 59m 1s":                                                         "2026-11-23T06:29:21Z",
		"quota will reset, retrying in 1h 59m attempt #1":                                    "2026-11-23T07:29:20Z",
		"429 too many requests retry-after-ms=7200000":                                       "2026-11-23T07:30:20Z",
		"⚠ 5h limit: only <1% left · resets at 06:40":                                        "2026-11-24T04:40:00Z",

		"You've hit your limit":                                  "",
		"You've hit your limit · resets soon":                    "",
		"You've hit your limit · resets 7:08am (Mars/Olympus)":   "", // a zone that nobody knows: a guess would be hours wrong
		"You've hit your limit · resets 13:08am (UTC)":           "",
		"You've hit your limit · resets 25:08 (UTC)":             "",
		"You've hit your limit · resets Feb 30, 5pm (UTC)":       "",
		"You've hit your limit · resets Nov 3, 5pm (UTC)":        "", // last year's or next year's: too far to be believed
		"You have hit your limit 3 times again 4":                "",
		"You've hit your limit · resets Nov 25th, 2031 6:40 AM.": "",
		"": "",
	} {
		got, ok := ReadReset(text, at, local, zones)
		if read := got.Format(time.RFC3339); ok != (want != "") || ok && read != want {
			t.Errorf("%q:\n got %s, %t\nwant %q", text, read, ok, want)
		}
	}
}

// TestReadResetOverTheClockChange: the next day's 3am is 25 hours away when the clock is set back in between.
func TestReadResetOverTheClockChange(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 10, 24, 4, 0, 0, 0, berlin)
	got, ok := ReadReset("resets 3:30am (Europe/Berlin)", at, time.UTC, time.LoadLocation)
	if want := at.Add(24*time.Hour + 30*time.Minute); !ok || !got.Equal(want) {
		t.Errorf("got %s, %t, want %s", got, ok, want)
	}
}

func TestResetAt(t *testing.T) {
	at := time.Unix(1_795_000_000, 0)
	for unix, want := range map[int64]bool{
		1_795_003_600: true, 1_795_003_600_000: true, 1_794_999_990: true,
		0: false, -5: false, 1_794_000_000: false, 1_895_000_000: false, 1 << 62: false,
	} {
		if got, ok := ResetAt(unix, at); ok != want {
			t.Errorf("%d: %s, %t, want %t", unix, got, ok, want)
		}
	}
}

func FuzzReadReset(f *testing.F) {
	at := time.Date(2026, 11, 23, 5, 30, 0, 0, time.UTC)
	for _, text := range []string{"resets 7:08am (UTC)", "try again in 3 days 4 hours", "resets Nov 27, 5pm (Europe/Berlin)", "retry-after-ms=1", "RESETS İ 7am (utc)"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, ok := ReadReset(text, at, time.UTC, zones)
		if ok && (got.Before(at.Add(-resetSlack)) || got.After(at.Add(maxReset))) {
			t.Errorf("%q: %s", text, got)
		}
	})
}
