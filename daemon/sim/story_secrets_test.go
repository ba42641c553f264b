package sim

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/handoffs"
	"github.com/understudyd/understudy/data"
)

// leaked is a secret that is put together here, so that nobody takes it for a leak.
var leaked = "ghp_" + "R7kq2LmZ9xTb4WcV1nYs" + "8dPf3GhJ6aQe" + "5uKi"

// leaks has the first n documents of an agent's handoff end with a secret.
func leaks(p *person, h *host, a *agent, n int) {
	if n == 0 {
		return
	}
	beforeFirst(p.w, commits("→ verifying"), func() {
		path := p.handoffs(a.id)[0].FilePath
		p.w.ok(os.WriteFile(path, []byte(mustRead(path)+"\n\nThe key is "+leaked+".\n"), 0o600))
		p.w.ok(os.Chtimes(path, h.now(), h.now()))
		leaks(p, h, a, n-1)
	})
}

// TestDocumentWithASecret: it is passed on with a warning. Where the setting refuses it, the agent is asked once more and told why, and then a
// person decides. What the daemon says and puts together never shows the secret; the document stays as the agent wrote it.
func TestDocumentWithASecret(t *testing.T) {
	for name, c := range map[string]struct {
		policy        daemon.SecretsPolicy
		leaks, asked  int
		warned, force bool
	}{
		"warned":          {policy: daemon.SecretsWarn, leaks: 1, asked: 1, warned: true},
		"off":             {policy: daemon.SecretsOff, leaks: 1, asked: 1},
		"written again":   {policy: daemon.SecretsRefuse, leaks: 1, asked: 2},
		"forced at once":  {policy: daemon.SecretsRefuse, leaks: 1, asked: 1, warned: true, force: true},
		"forced at last":  {policy: daemon.SecretsRefuse, leaks: 2, asked: 2, warned: true, force: true},
		"retried at last": {policy: daemon.SecretsRefuse, leaks: 2, asked: 3},
	} {
		storyAs(t, name, withWorked(func(t *testing.T, p *person, h *host, a *agent) {
			h.daemon.d.Settings().Handoff.Secrets = c.policy
			leaks(p, h, a, c.leaks)
			p.w.ok(handOff(p, h, a.id, handoffs.HandoffRequest{Force: c.force && c.leaks == 1}))
			if c.policy == daemon.SecretsRefuse && c.leaks > 1 {
				bad := p.reach(a, daemon.Failed)
				wantFailure(p, t, &bad, daemon.Verifying, data.DocumentSecret, "github-token in line", "`understudy handoff retry 1 --force`")
				p.w.ok(retryAs(p, &bad, handoffs.Retry{Force: c.force}))
			}
			done := p.reach(a, daemon.Completed)
			said := strings.Join(done.Warnings, " ")
			if asked := kinds(p, a); len(asked) != c.asked+1 || strings.Contains(said, "github-token in line") != c.warned {
				t.Errorf("the agent was typed %v; warnings %q", asked, said)
			}
			if got, there := mustRead(done.FilePath), c.warned || c.policy == daemon.SecretsOff; strings.Contains(got, leaked) != there {
				t.Errorf("the document: %s", got)
			}
			if got := mustRead(*done.ContextPath); strings.Contains(got, leaked) != (c.policy == daemon.SecretsOff) {
				t.Errorf("the context: %s", got)
			}
			if request := mustRead(strings.TrimSuffix(done.FilePath, ".md") + ".request.md"); strings.Contains(request, leaked) || strings.Contains(request, "github-token in line") != (c.asked > 1) {
				t.Errorf("the agent was asked: %s", request)
			}
			for _, e := range eventsOf(p, event.HandoffFailed) {
				if strings.Contains(string(e.Payload), leaked) {
					t.Errorf("told: %s", e.Payload)
				}
			}
		}))
	}
}

// TestOutputWithASecret: a step's output is passed on with a warning and an event, or fails the step.
func TestOutputWithASecret(t *testing.T) {
	for _, policy := range []daemon.SecretsPolicy{daemon.SecretsWarn, daemon.SecretsRefuse} {
		storyAs(t, string(policy), func(t *testing.T, p *person, h *host) {
			writeTemplate(p, h, "leak", "- agent: developer-con-1\n- agent: developer-kim-2\n")
			awaitDaemon(p, h)
			h.daemon.d.Settings().Handoff.Secrets = policy
			says(p, "Use "+leaked, "Fine.", "Fine.")
			id := p.startPipeline(h, "leak")
			if policy == daemon.SecretsRefuse {
				bad := p.reachStatus(id, daemon.PipelineFailed)
				if bad.ErrorCode != daemon.CodeOutputSecret || !strings.Contains(*bad.Error, "github-token in line 1") || strings.Contains(*bad.Error+bad.Hint, leaked) || bad.Steps[0].LatestHandoff != nil {
					t.Errorf("%s: %s", bad.ErrorCode, *bad.Error)
				}
				return
			}
			done := p.reachStatus(id, daemon.PipelineDone)
			warned := slices.ContainsFunc(eventsOf(p, event.PipelineWarning), func(e event.Event) bool { return strings.Contains(e.Words(), "github-token in line 1") })
			if out := done.Steps[0].LatestHandoff; !warned || out.ContentMD != "Use "+leaked || !has(out.Warnings, "github-token in line 1") {
				t.Errorf("told %t; %+v", warned, out)
			}
		})
	}
}
