package scriptedtest

import (
	"context"

	"github.com/understudyd/understudy/cmd/internal/scripted"
)

// deliver writes the handoff document, unless the agent misbehaves.
func (s *script) deliver(ctx context.Context, a *scripted.Agent, path, content string) error {
	if s.inTurn().has("no-document") {
		return nil
	}
	return a.Use(ctx, scripted.WriteTool(path, content, func() error { return a.WriteFile(path, content) }))
}
