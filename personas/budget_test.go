package personas

import (
	"strings"
	"testing"
)

func TestBudget(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Budget{
		"{daily_usd: 5}":                           {DailyMicros: 5_000_000},
		"{daily_tokens: 2_000_000}":                {DailyTokens: 2_000_000},
		"{daily_usd: 0.005, daily_tokens: \"10\"}": {DailyMicros: 5_000, DailyTokens: 10},
		"": {},
	} {
		p, err := Parse("reviewer-ann-1", []byte("---\nname: reviewer-ann-1\ndescription: x\nbudget: "+text+"\n---\nYou review.\n"))
		if err != nil || p.Budget != want {
			t.Errorf("budget: %s is %+v, %v", text, p.Budget, err)
		}
	}
	for _, text := range []string{"5", "{daily_usd: 0}", "{daily_usd: -1}", "{daily_usd: NaN}", "{daily_usd: many}", "{daily_tokens: [1]}", "{weekly_usd: 5}"} {
		_, err := Parse("reviewer-ann-1", []byte("---\nname: reviewer-ann-1\ndescription: x\nbudget: "+text+"\n---\nYou review.\n"))
		if err == nil || !strings.Contains(err.Error(), "line 4") {
			t.Errorf("budget: %s is taken, or without its line: %v", text, err)
		}
	}
}
