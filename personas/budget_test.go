package personas

import (
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
		equal(t, "budget: "+text, value(budgeted(text))(t).Budget, want)
	}
	for _, text := range []string{"5", "{daily_usd: 0}", "{daily_usd: -1}", "{daily_usd: NaN}", "{daily_usd: many}", "{daily_tokens: [1]}", "{weekly_usd: 5}"} {
		failed(budgeted(text))(t, "budget: "+text+" is taken, or without its line", "line 4")
	}
}

func budgeted(text string) (Persona, error) {
	return Parse("reviewer-ann-1", []byte("---\nname: reviewer-ann-1\ndescription: x\nbudget: "+text+"\n---\nYou review.\n"))
}
