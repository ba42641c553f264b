package limittext_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/runtimes/limittext"
	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

// resetSlack is how much earlier than the text a time may be that it names.
const resetSlack = 10 * time.Minute

// hosts are the zones of machines on which the texts are read. In some of them the clock is ahead of UTC or behind it by half a
// day, or by no whole hour.
var hosts = []string{"UTC", "Europe/Berlin", "America/New_York", "America/Santiago", "Asia/Kolkata", "Asia/Shanghai", "Pacific/Auckland", "Pacific/Marquesas"}

func place(t testing.TB, name string) *time.Location {
	t.Helper()
	return wardentest.Value(time.LoadLocation(name))(t)
}

// TestLimitTexts: testdata/limits.tsv says of each text whether it is a limit and when that ends. Where the text names a zone or a
// length of time, that is so on every machine.
func TestLimitTexts(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 23, 5, 30, 20, 0, time.UTC)
	file := wardentest.Value(os.ReadFile("testdata/limits.tsv"))(t)
	for line := range strings.Lines(string(file)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), "\t", 4)
		if len(f) != 4 {
			t.Fatalf("%q has no four fields", line)
		}
		if code, _ := runtimes.ReadTrouble(f[0], f[3], ""); code != f[1] {
			t.Errorf("%s: %q is %s, want %s", f[0], f[3], code, f[1])
		}
		for _, host := range hosts {
			local := place(t, host)
			got, ok := limittext.ReadReset(f[3], at, local, time.LoadLocation)
			want := wantReset(t, f[2], at, local)
			if f[2] != "any" && (ok == want.IsZero() || ok && !got.Equal(want)) {
				t.Errorf("in %s: %q:\n got %s, %t\nwant %s", host, f[3], got, ok, want)
			}
		}
	}
}

// wantReset returns the time that a line of the table names; zero: none.
func wantReset(t *testing.T, text string, at time.Time, local *time.Location) time.Time {
	t.Helper()
	clock, ofHost := strings.CutPrefix(text, "local ")
	switch {
	case text == "-", text == "any":
		return time.Time{}
	case !ofHost:
		return wardentest.Value(time.Parse(time.RFC3339, text))(t)
	case strings.Contains(clock, "T"):
		return wardentest.Value(time.ParseInLocation("2006-01-02T15:04:05", clock, local))(t)
	}
	next := at.Add(-resetSlack).Truncate(time.Minute).Add(time.Minute)
	for next.In(local).Format("15:04") != clock {
		next = next.Add(time.Minute)
	}
	return next
}

// TestResetOnAnotherClock: a gateway writes the time of its own clock. The length of the limit shows that it cannot be this
// machine's.
func TestResetOnAnotherClock(t *testing.T) {
	t.Parallel()
	const text = "[1308][Usage limit reached for 5 hour. Your limit will reset at 2026-11-26 11:30:09]"
	for _, tt := range []struct{ host, at, want string }{
		{"UTC", "2026-11-26T10:16:00Z", "2026-11-26T11:30:09Z"},
		{"Europe/Berlin", "2026-11-26T08:00:00Z", "2026-11-26T10:30:09Z"},
		{"Asia/Shanghai", "2026-11-26T02:00:00Z", "2026-11-26T03:30:09Z"},
		{"UTC", "2026-11-26T02:00:00Z", "2026-11-26T03:30:09Z"},
		{"America/New_York", "2026-11-26T02:00:00Z", "2026-11-26T03:30:09Z"},
		{"America/New_York", "2026-11-26T08:00:00Z", "2026-11-26T11:30:09Z"},
		{"UTC", "2026-11-27T10:16:00Z", ""},
	} {
		at := wardentest.Value(time.Parse(time.RFC3339, tt.at))(t)
		got, ok := limittext.ReadReset(text, at, place(t, tt.host), time.LoadLocation)
		if read := got.Format(time.RFC3339); ok != (tt.want != "") || ok && read != tt.want {
			t.Errorf("in %s at %s: %s, %t, want %s", tt.host, tt.at, read, ok, tt.want)
		}
		if code, _ := runtimes.ReadTrouble(runtimes.RateLimit, "API Error: Request rejected (429) · "+text, ""); code != runtimes.UsageLimit {
			t.Errorf("it is %s", code)
		}
	}
}

// TestReadResetAtTheEdges: nights in which the clock is set, midnight and the turn of the year.
func TestReadResetAtTheEdges(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ host, at, text, want string }{
		{"America/New_York", "2026-03-08T05:00:00Z", "resets 2:30am", "2026-03-08T07:00:00Z"},        // the clock skips it: when it is set
		{"America/New_York", "2026-11-01T05:00:00Z", "resets 1:30am", "2026-11-01T05:30:00Z"},        // it comes twice
		{"America/New_York", "2026-11-01T05:45:00Z", "resets 1:30am", "2026-11-01T06:30:00Z"},        // the second one
		{"America/New_York", "2026-11-01T07:00:00Z", "resets 1:30am", "2026-11-02T06:30:00Z"},        // the next day's
		{"America/Santiago", "2026-09-05T20:00:00Z", "resets 12am", "2026-09-06T04:00:00Z"},          // midnight is skipped
		{"America/Santiago", "2026-09-03T20:00:00Z", "resets Sep 6", "2026-09-06T04:00:00Z"},         // and the day begins at 1:00
		{"America/Santiago", "2026-09-03T20:00:00Z", "resets Sunday", "2026-09-06T04:00:00Z"},        //
		{"UTC", "2026-11-23T23:58:00Z", "resets 12:03am", "2026-11-24T00:03:00Z"},                    //
		{"UTC", "2026-11-23T23:58:00Z", "resets midnight", "2026-11-24T00:00:00Z"},                   //
		{"UTC", "2026-11-23T00:05:00Z", "resets midnight", "2026-11-23T00:00:00Z"},                   // just now
		{"UTC", "2026-11-23T23:58:00Z", "resets tomorrow at 9am", "2026-11-24T09:00:00Z"},            //
		{"Pacific/Auckland", "2026-11-23T12:00:00Z", "resets tomorrow, 9am", "2026-11-24T20:00:00Z"}, // there it is the 24th
		{"UTC", "2026-12-31T23:00:00Z", "resets Jan 1, 2am", "2027-01-01T02:00:00Z"},                 //
		{"UTC", "2027-01-01T00:05:00Z", "resets Dec 31, 11:58pm", "2026-12-31T23:58:00Z"},            // last year's, just now
		{"UTC", "2026-11-23T12:00:00Z", "resets noon", "2026-11-23T12:00:00Z"},                       //
		{"UTC", "2026-11-23T12:00:00Z", "resets Monday", "2026-11-30T00:00:00Z"},                     // today's is over
		{"UTC", "2026-11-23T12:00:00Z", "resets 5 p.m.", "2026-11-23T17:00:00Z"},                     //
		{"UTC", "2026-11-23T12:00:00Z", "resets 17:00 CET", "2026-11-23T16:00:00Z"},                  //
		{"UTC", "2026-11-23T12:00:00Z", "resets at 17:00 for you", "2026-11-23T17:00:00Z"},           //
		{"UTC", "2026-11-23T12:00:00Z", "resets at 17:00 UTC+05:30.", "2026-11-24T11:30:00Z"},        //
		{"UTC", "2026-11-23T12:00:00Z", "resets 2026-11-23T17:00:00.123-05:00", "2026-11-23T22:00:00Z"},
	} {
		at := wardentest.Value(time.Parse(time.RFC3339, tt.at))(t)
		got, ok := limittext.ReadReset("You've hit your limit · "+tt.text, at, place(t, tt.host), time.LoadLocation)
		if read := got.Format(time.RFC3339); !ok || read != tt.want {
			t.Errorf("in %s at %s: %q: %s, %t, want %s", tt.host, tt.at, tt.text, read, ok, tt.want)
		}
	}
}

// TestReadResetOverTheClockChange: the next day's 3am is 25 hours away when the clock is set back in between.
func TestReadResetOverTheClockChange(t *testing.T) {
	berlin := wardentest.Value(time.LoadLocation("Europe/Berlin"))(t)
	at := time.Date(2026, 10, 24, 4, 0, 0, 0, berlin)
	got, ok := limittext.ReadReset("resets 3:30am (Europe/Berlin)", at, time.UTC, time.LoadLocation)
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
		if got, ok := limittext.ResetAt(unix, at); ok != want {
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
		got, ok := limittext.ReadReset(text, at, time.UTC, time.LoadLocation)
		if ok && (got.Before(at.Add(-resetSlack)) || got.After(at.Add(45*24*time.Hour))) {
			t.Errorf("%q: %s", text, got)
		}
	})
}
