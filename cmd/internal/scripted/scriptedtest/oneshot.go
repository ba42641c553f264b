package scriptedtest

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/understudyd/understudy/cmd/internal/child"
	"github.com/understudyd/understudy/cmd/internal/scripted"
	"github.com/understudyd/understudy/daemon/actor"
)

// printed returns the answer of print mode.
func (s *script) printed(ctx context.Context, a *scripted.Agent, b behaviours, d directives, prompt string) (scripted.Answer, error) {
	if b.has("fork-hang") {
		if err := s.leaveTrace(ctx); err != nil {
			return scripted.Answer{}, err
		}
		if b["fork-hang"] == "" {
			<-ctx.Done()
		}
	}
	if err := sleep(ctx, b.duration("think", scripted.ThinkTime)+b.duration("fork-hang", 0)); err != nil {
		return scripted.Answer{}, err
	}
	if b.has("fork-error") {
		return scripted.Answer{}, &scripted.APIError{Kind: "overloaded", Status: 529, Message: "API Error: 529 overloaded"}
	}
	if b.has("fork-tool") {
		if err := a.Use(ctx, forkTool(a)); err != nil {
			return scripted.Answer{}, err
		}
	}
	text := d.say
	if text == "" {
		a.Memory.Decisions = append(a.Memory.Decisions, d.decisions...)
		text, _ = a.Reply(ctx, prompt) // the answer of print mode uses no tools
		if actor.AsksToHandOver(prompt) {
			text = b.spoil(text)
		}
	}
	if b.has("fork-empty") {
		return scripted.Answer{}, nil
	}
	if at := strings.LastIndex(text, "\n## "); b.has("fork-blocks") && at > 0 {
		return scripted.Answer{Blocks: []string{text[:at], text[at+1:]}}, nil
	}
	return scripted.Answer{Blocks: []string{text}}, nil
}

// leaveTrace starts the child of fork-child. It writes the process ids to the file that SCRIPTED_AGENT_PIDFILE names,
// one a line: first the id of this process, then the child's. The file appears only when it is complete.
func (s *script) leaveTrace(ctx context.Context) error {
	ids := fmt.Sprintln(s.process.PID)
	if s.inTurn().has("fork-child") {
		// The child outlives this process unless something ends it.
		left := s.process.Run(ctx, scripted.Command{Argv: []string{"sleep", "120"}, Environ: s.process.Environ, Detached: true})
		if left.Err != nil {
			return fmt.Errorf("child: %w", left.Err)
		}
		ids += fmt.Sprintln(left.PID)
	}
	file := child.Getenv(s.process.Environ, "SCRIPTED_AGENT_PIDFILE")
	if file == "" {
		return nil
	}
	if err := os.WriteFile(file+".tmp", []byte(ids), 0o644); err != nil {
		return fmt.Errorf("process ids: %w", err)
	}
	return os.Rename(file+".tmp", file)
}
