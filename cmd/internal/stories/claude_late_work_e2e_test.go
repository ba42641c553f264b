//go:build e2e

package stories

import (
	"strings"
	"testing"

	"github.com/understudyd/understudy/cmd/internal/claudetest"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/hooks"
	"github.com/understudyd/understudy/tmux"
)

// claudeWrites reports whether the model's reply writes the document.
func claudeWrites(_ claudetest.Request, reply claudetest.Reply) bool { return reply.Tool == "Write" }

// claudeHasWritten reports whether the model's reply ends its turn after it has written the document.
func claudeHasWritten(req claudetest.Request, reply claudetest.Reply) bool {
	return reply.Tool == "" && strings.Contains(string(req.Raw), "has been updated")
}

// handsOverAfterMore: a person queues a prompt while the CLI writes the document, or between the writing and the end
// of the turn. The handoff waits, and a retry asks for another document.
func handsOverAfterMore(more string, holds func(claudetest.Request, claudetest.Reply) bool) func(*testing.T, *claudeRig, daemon.Agent) int64 {
	return func(t *testing.T, r *claudeRig, a daemon.Agent) int64 {
		prompts := len(r.tap.of(a.ID, hooks.UserPromptSubmit))
		holding := make(chan struct{}, 9)
		r.api.SetScript(func(req claudetest.Request) claudetest.Reply {
			reply := obeys(req)
			if holds(req, reply) && !strings.Contains(string(req.Raw), more) {
				reply.Text, reply.Hold = "I have it now, all of it.", true
				holding <- struct{}{}
			}
			return reply
		})
		id := r.requestHandoff(a.ID)
		<-holding
		r.personTypes(a.ID, more, tmux.Enter)
		r.await("the hook of the prompt", func() (bool, string) {
			return len(r.tap.of(a.ID, hooks.UserPromptSubmit)) == prompts+2, r.tap.String()
		})
		r.api.SetScript(obeys)
		r.api.Release()
		first := r.awaitDecision(id, a.ID)
		// The model that obeys writes to a path only once, and this path is the same again.
		again := claudetest.Write(first.FilePath, claudetest.Document)
		r.api.SetScript(claudetest.Ask("understudy: hand over your work", again, obeys))
		r.retryHandoff(id)
		h := r.awaitPhase(id, daemon.Completed)
		if h.Ref == first.Ref {
			t.Errorf("handoff %+v, want another instruction", h)
		}
		return *h.SuccessorID
	}
}
