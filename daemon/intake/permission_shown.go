package intake

import (
	"encoding/json"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/hooks"
)

// callOf reads the call of a PermissionRequest; ok is false if the hook does not have all of it.
func callOf(p *hooks.Payload) (c daemon.ToolCall, ok bool) {
	c.Tool = p.ToolName
	if p.Truncated || p.Malformed || p.ToolName == "" || json.Unmarshal(p.ToolInput, &c.Args) != nil {
		return c, false
	}
	return c, true
}
