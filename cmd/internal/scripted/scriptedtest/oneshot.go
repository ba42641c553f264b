package scriptedtest

import (
	"context"
	"fmt"
	"os"

	"github.com/understudyd/understudy/cmd/internal/child"
	"github.com/understudyd/understudy/cmd/internal/scripted"
)

// printed returns the answer of print mode.
func (s *script) printed(ctx context.Context, a *scripted.Agent, b behaviours, d directives, prompt string) (string, error) {
	if b.has("fork-hang") {
		if err := s.leaveTrace(); err != nil {
			return "", err
		}
		<-ctx.Done()
	}
	if err := sleep(ctx, b.duration("think", scripted.ThinkTime)); err != nil {
		return "", err
	}
	text := d.say
	if text == "" {
		a.Memory.Decisions = append(a.Memory.Decisions, d.decisions...)
		text, _ = a.Reply(ctx, prompt) // the answer of print mode uses no tools
	}
	return text, nil
}

// leaveTrace writes the id of this process to the file that SCRIPTED_AGENT_PIDFILE names. The file appears only when it is complete.
func (s *script) leaveTrace() error {
	file := child.Getenv(s.process.Environ, "SCRIPTED_AGENT_PIDFILE")
	if file == "" {
		return nil
	}
	if err := os.WriteFile(file+".tmp", fmt.Appendln(nil, s.process.PID), 0o644); err != nil {
		return fmt.Errorf("process id: %w", err)
	}
	return os.Rename(file+".tmp", file)
}
