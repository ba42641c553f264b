package opencode

import (
	"context"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/understudyd/understudy/daemon/runtimes/opencode"
)

// TestSessionHasTheRulesOfItsMode: the session is made with the rules of the mode, and one that was opened again gets them once, however
// often the server is followed.
func TestSessionHasTheRulesOfItsMode(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		s.Rules = []any{map[string]string{"permission": "*", "pattern": "*", "action": "allow"}, map[string]string{"permission": "bash", "pattern": "rm *", "action": "deny"}}
		ofSession := func(id string) []opencode.Rule {
			var now session
			must(t, s.server().call(context.Background(), http.MethodGet, inSession(id, ""), nil, &now))
			return now.Rules
		}
		want := []opencode.Rule{{Permission: "bash", Pattern: "rm *", Action: "deny"}, {Permission: "edit", Pattern: "*", Action: "ask"}}
		has := func(id string) {
			t.Helper()
			for _, w := range want {
				if got := ofSession(id); !slices.Contains(got, w) {
					t.Errorf("rules %v, want %v", got, w)
				}
			}
		}
		plain := s.sessionID(t)
		if got := ofSession(plain); got != nil {
			t.Errorf("rules %v without a mode", got)
		}
		s.link.Mode, s.link.Session = "ask", plain
		n := 0
		for i := range 3 {
			stop := s.follow()
			synctest.Wait()
			has(plain)
			if got := len(ofSession(plain)); i > 0 && got != n {
				t.Errorf("%d rules after another look, and %d before", got, n)
			} else {
				n = got
			}
			_ = stop()
		}
		s.link.Session, s.link.AgentID = "", 8
		has(s.sessionID(t))
	})
}

// TestPromptsAreForTheAgentOfTheMode: a text by the server goes to the agent that the mode names. Without a name OpenCode takes the
// default agent, which may do more than the one that the screen shows.
func TestPromptsAreForTheAgentOfTheMode(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		for i, mode := range []string{"", "ask", "plan"} {
			s.link.Mode, s.link.AgentID = mode, int64(10+i)
			must(t, s.server().Send(t.Context(), "go on", time.Time{}))
			var now struct {
				Agents []string `json:"agents"`
			}
			must(t, s.server().call(t.Context(), http.MethodGet, inSession(s.sessionID(t), ""), nil, &now))
			if want := opencode.AgentOf(mode); !slices.Equal(now.Agents, []string{want}) {
				t.Errorf("mode %q: the prompt was for %q, want %q", mode, now.Agents, want)
			}
		}
	})
}
