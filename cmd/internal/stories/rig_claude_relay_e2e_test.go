//go:build e2e

package stories

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/runtimes/claude"
	"github.com/understudyd/understudy/hooks"
	"github.com/understudyd/understudy/tmux"
)

// leg is a story about one agent.
type leg struct {
	name string
	tell func(t *testing.T, r *claudeRig, a daemon.Agent) (next int64) // next is the agent of the next leg, mostly the successor.
}

// relay tells stories one after the other in one rig, whose model obeys. Each story gets the agent that the previous
// one has left. The first story, and the one after a failure, gets a new agent of the persona con.
func (r *claudeRig) relay(t *testing.T, legs ...leg) {
	var left int64
	for _, l := range legs {
		t.Run(l.name, func(t *testing.T) {
			r.as(t, func() {
				var a daemon.Agent
				if left == 0 {
					a = r.startAgent(con)
				} else {
					a = r.awaitBriefed(left)
				}
				left = 0
				if next := l.tell(t, r, a); !t.Failed() {
					left = next
				}
			})
		})
	}
}

// as tells a story whose failures are those of a test within the rig's own.
func (r *claudeRig) as(t *testing.T, tell func()) {
	whole := r.t
	r.t = t
	defer func() { r.t = whole }()
	r.api.SetScript(obeys)
	tell()
}

// awaitBriefed waits until the agent's first turn is over: a successor has then looked at what it takes over.
func (r *claudeRig) awaitBriefed(agentID int64) daemon.Agent {
	r.t.Helper()
	r.await(fmt.Sprintf("agent %d: the end of its first turn", agentID), func() (bool, string) {
		return len(r.tap.of(agentID, hooks.Stop)) > 0, r.tap.String()
	})
	return r.awaitState(agentID, daemon.Idle)
}

// patience is how long a person looks at what did not happen before they do it again.
const patience = 15 * time.Second

// personSubmits is a person who looks at what they type. The CLI drops what comes while it draws its screen anew, as after a /cd,
// and a question that opens late takes it: the text is typed again into an empty composer, and goes when it stands there.
func (r *claudeRig) personSubmits(agentID int64, text string) {
	r.t.Helper()
	begin, _, _ := strings.Cut(text, " ")
	var typed, entered time.Time
	r.awaitEvery(tickOfScreens, fmt.Sprintf("agent %d: %q is submitted", agentID, text), func() (bool, string) {
		shown := r.shown(agentID)
		s := claude.Runtime.ReadScreen(runtimes.View{Text: shown})
		switch stands := strings.HasPrefix(s.Draft, begin); {
		case s.Dialog != "":
		case stands && time.Since(entered) > patience:
			r.personPresses(agentID, tmux.Enter)
			entered = time.Now()
		case s.Composer && s.Draft == "" && !entered.IsZero():
			return true, shown
		case s.Composer && s.Draft == "" && time.Since(typed) > patience:
			r.personTypes(agentID, text)
			typed = time.Now()
		}
		return false, shown
	})
}
