package opencode

import (
	"cmp"
	"context"
	"net/http"
	"slices"

	"github.com/understudyd/understudy/daemon/runtimes/opencode"
)

// rules returns the rules by which the agent's session works in the mode of its launch. They follow from the user's own, which only
// the server knows: they come from many files.
func (s *server) rules(ctx context.Context) ([]opencode.Rule, error) {
	if s.link.Mode == "" {
		return nil, nil
	}
	var config struct {
		Default string `json:"default_agent"`
	}
	if err := s.call(ctx, http.MethodGet, "/config", nil, &config); err != nil {
		return nil, err
	}
	var agents []opencode.Agent
	if err := s.call(ctx, http.MethodGet, "/agent", nil, &agents); err != nil {
		return nil, err
	}
	return opencode.Session(s.link.Mode, cmp.Or(config.Default, "build"), agents), nil
}

// narrow gives a session that was opened again the rules of this launch. OpenCode adds them to those that it has.
func (s *server) narrow(ctx context.Context, id string) error {
	rules, err := s.rules(ctx)
	if err != nil || len(rules) == 0 {
		return err
	}
	var now session
	if err := s.call(ctx, http.MethodGet, inSession(id, ""), nil, &now); err != nil {
		return err
	}
	if n := len(now.Rules) - len(rules); n >= 0 && slices.Equal(now.Rules[n:], rules) {
		return nil
	}
	return s.call(ctx, http.MethodPatch, inSession(id, ""), session{Rules: rules}, nil)
}
