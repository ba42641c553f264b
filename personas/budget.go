package personas

import (
	"math"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/understudyd/understudy/data/yamlfile"
)

// Budget is how much the agents of a persona may use in a day; the zero value sets no limit.
type Budget struct {
	DailyMicros int64 // millionths of a US dollar; 0: no limit
	DailyTokens int64 // 0: no limit
}

// readBudget reads the key budget, such as {daily_usd: 5, daily_tokens: 2000000}.
func (p *Persona) readBudget(v yamlfile.Value) error {
	var b Budget
	err := v.Each([]string{"daily_usd", "daily_tokens"}, func(key, value yamlfile.Value) error {
		n, err := strconv.ParseFloat(strings.ReplaceAll(value.Value, "_", ""), 64)
		if value.Kind != yaml.ScalarNode || err != nil || !(n > 0) || n > 1e12 {
			return parseError(value.Line, "%s of budget must be a number greater than 0", key.Value)
		}
		if key.Value == "daily_usd" {
			b.DailyMicros = max(1, int64(math.Round(min(n, 1e9)*1e6)))
			return nil
		}
		b.DailyTokens = max(1, int64(n))
		return nil
	})
	if err != nil {
		return inSkill(err)
	}
	p.Budget = b
	return nil
}
