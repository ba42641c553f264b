//go:build e2e

package main

import (
	"strings"
	"testing"

	"github.com/understudyd/understudy/cmd/internal/claudetest"
	"github.com/understudyd/understudy/tmux"
)

// TestClaudeQueuedWhileWriting: a prompt that a person queues while the real CLI writes the document, or after it has
// written it and before its turn ends, has the handoff wait; a retry asks for another document.
func TestClaudeQueuedWhileWriting(t *testing.T) {
	t.Parallel()
	for name, held := range map[string]func(req claudetest.Request, reply claudetest.Reply) bool{
		"put into the turn": func(_ claudetest.Request, reply claudetest.Reply) bool { return reply.Tool == "Write" },
		"a turn of its own": func(req claudetest.Request, reply claudetest.Reply) bool {
			return reply.Tool == "" && strings.Contains(string(req.Raw), "has been updated") && !strings.Contains(string(req.Raw), oneMore)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			holding := make(chan struct{}, 9)
			r := newClaudeRig(t, func(req claudetest.Request) claudetest.Reply {
				reply := obeys(req)
				if held(req, reply) {
					reply.Text, reply.Hold = "I have it now, all of it.", true
					holding <- struct{}{}
				}
				return reply
			})
			r.start()
			a := r.agent(con)
			r.talk(a.ID, "hello")
			id := r.handoff(a.ID)
			<-holding
			r.personTypes(a.ID, oneMore, tmux.Enter)
			r.await("the hook of the prompt", func() (bool, string) { return len(r.tap.of(a.ID, "UserPromptSubmit")) == 3, r.tap.String() })
			r.api.SetScript(obeys)
			r.api.Release()
			first := r.awaitDecision(id, a.ID)
			// The model that obeys writes to a path once; it is the same path again.
			again := claudetest.Write(first.FilePath, claudetest.Document)
			r.api.SetScript(claudetest.Ask("understudy: hand over your work", again, obeys))
			r.retry(id)
			if h := r.awaitPhase(id, "completed"); h.Ref == first.Ref {
				t.Errorf("handoff %+v, want another instruction", h)
			}
		})
	}
}
