package commands

import (
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/cmd/internal/cmdtest"
)

func TestPointInTime(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.Local)
	for text, want := range map[string]time.Time{
		"":                     {},
		"2h":                   now.Add(-2 * time.Hour),
		"2026-03-01":           time.Date(2026, 3, 1, 0, 0, 0, 0, time.Local),
		"2026-03-01 04:05":     time.Date(2026, 3, 1, 4, 5, 0, 0, time.Local),
		"2026-03-01T04:05:06Z": time.Date(2026, 3, 1, 4, 5, 6, 0, time.UTC),
	} {
		if got, err := pointInTime("since", text, now); err != nil || !got.Equal(want) {
			t.Errorf("%q: %s, %v", text, got, err)
		}
	}
	for _, text := range []string{"-2h", "yesterday", "2026-13-01", "7"} {
		if _, err := pointInTime("since", text, now); err == nil || !strings.HasPrefix(err.Error(), "--since must be") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestAuditUsage(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"--export pdf":            "--export must be md or json",
		"--output x":              "--output needs --export md or --export json",
		"--export md --limit 5":   "--export writes all matching events: leave out --limit, and use --since to get fewer",
		"--handoff 0":             "--handoff must be a number from 1",
		"--since soon --agent 12": "--since must be how long ago",
	} {
		var stdout, stderr strings.Builder
		code := Run(t.Context(), append([]string{"audit"}, strings.Fields(args)...), cmdtest.NoEnv, strings.NewReader(""), &stdout, &stderr)
		if code != ExitUsage || !strings.Contains(stderr.String(), want) {
			t.Errorf("%s: exit code %d, %s", args, code, &stderr)
		}
	}
}
