package storetest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
)

func audit(t *testing.T, st daemon.Store) {
	a := NewAgent(t, st, func(a *daemon.Agent) { a.Persona = ptr("developer-con-1") })
	noon := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	Commit(t, st, &daemon.Change{Events: []*event.Event{
		{Type: "agent_idle", Host: "h1", At: noon, AgentID: &a.ID, Payload: []byte(`{"message": "100% Ünder_way"}`)},
		{Type: "agent_ended", Host: "h2", At: noon.Add(time.Hour), AgentID: ptr(int64(77))},
		{Type: "handoff_failed", Host: "h1", At: noon.Add(2 * time.Hour), HandoffID: ptr(int64(8)), PipelineID: ptr(int64(9))},
	}})
	for name, tt := range map[string]struct {
		filter daemon.AuditFilter
		want   string
	}{
		"all":              {daemon.AuditFilter{}, "3 2 1"},
		"types":            {daemon.AuditFilter{Types: []string{"agent_idle", "handoff_failed"}}, "3 1"},
		"prefix":           {daemon.AuditFilter{TypePrefix: "agent_"}, "2 1"},
		"prefix, literal":  {daemon.AuditFilter{TypePrefix: "agent%"}, ""},
		"agent":            {daemon.AuditFilter{AgentID: 77}, "2"},
		"handoff":          {daemon.AuditFilter{HandoffID: 8}, "3"},
		"pipeline":         {daemon.AuditFilter{PipelineID: 9}, "3"},
		"host":             {daemon.AuditFilter{Host: "h2"}, "2"},
		"persona":          {daemon.AuditFilter{Persona: "developer-con-1"}, "1"},
		"since":            {daemon.AuditFilter{Since: noon.Add(time.Hour)}, "3 2"},
		"until":            {daemon.AuditFilter{Until: noon.Add(time.Hour)}, "1"},
		"text, its case":   {daemon.AuditFilter{Text: "100% üNDER_WAY"}, "1"},
		"text, no pattern": {daemon.AuditFilter{Text: "1_0%"}, ""},
		"text in the type": {daemon.AuditFilter{Text: "OFF_f"}, "3"},
		"text, NUL":        {daemon.AuditFilter{Text: "a\x00b"}, ""},
		"before":           {daemon.AuditFilter{Before: 3}, "2 1"},
		"limit":            {daemon.AuditFilter{Limit: 1}, "3"},
	} {
		ids := fmt.Sprint(idsOf(result(st.Audit(t.Context(), tt.filter))(t)))
		equal(t, name, strings.Trim(ids, "[]"), tt.want)
	}
}
