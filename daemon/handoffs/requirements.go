package handoffs

import (
	"context"
	"slices"
	"strings"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/agents"
	"github.com/understudyd/understudy/daemon/words"
	"github.com/understudyd/understudy/data"
)

// validate notes the requirements of the successors' roles that the handoff does not meet, in a warning of its record.
func (s *assembly) validate(ctx context.Context, line []daemon.Record) error {
	if !s.settings.ValidateContext {
		return nil
	}
	req, err := data.ReadRequirements(s.d.Data.Requirements())
	if err != nil {
		s.warn("The requirements of roles could not be read, those that are shipped hold: %s.", words.TrimDot(err.Error()))
	}
	s.out.Validated = true
	for _, role := range rolesOf(s.H.Targets()) {
		var titles []string
		for _, name := range req.Of(role) {
			if s.meetsRequirement(req, name, line) {
				continue
			}
			s.out.Validated = false
			if !slices.Contains(s.out.missing, name) {
				s.out.missing = append(s.out.missing, name)
			}
			titles = append(titles, data.HeadingTitle(name))
		}
		if len(titles) > 0 {
			s.warn("The role %s requires %s, and the document has no such heading with text under it.", role, strings.Join(titles, ", "))
		}
	}
	return nil
}

func (s *assembly) meetsRequirement(req data.Requirements, name string, line []daemon.Record) bool {
	if data.HasSection(s.out.Record.Document, name) || req.FileMeets(name, s.agent.Cwd) {
		return true
	}
	wanted, ok := req.DecisionsOf(name)
	return ok && slices.ContainsFunc(append([]daemon.Record{s.out.Record}, line...), func(rec daemon.Record) bool {
		return len(rec.Decisions) > 0 && (wanted == "" || req.Canonical(agents.RoleOf(rec.Persona)) == req.Canonical(wanted))
	})
}

// rolesOf returns the roles of personas, each once.
func rolesOf(slugs []string) (roles []string) {
	for _, slug := range slugs {
		if role := agents.RoleOf(slug); !slices.Contains(roles, role) {
			roles = append(roles, role)
		}
	}
	return roles
}

// NoHeadings ends the warning that the fields of a step's output could not be read.
const NoHeadings = " left none of the four headings: its final message is passed on as it is."
