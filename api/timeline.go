package api

import (
	"time"

	"github.com/understudyd/understudy/daemon/pictures"
)

// spans are the values of the parameter span.
var spans = map[string]time.Duration{"": pictures.Day, "day": pictures.Day, "week": pictures.Week, "month": pictures.Month}

// span returns how much time a timeline shows.
func span(p *params) time.Duration { return spans[p.oneOf("span", "day", "week", "month")] }
