package sim

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/handoffs"
	"github.com/understudyd/understudy/daemon/house"
	"github.com/understudyd/understudy/hooks"
	"github.com/understudyd/understudy/tmux"
)

// slash is a /handoff that a person types at an idle agent's pane. Its hook is held, as long as the daemon wants.
type slash struct {
	a    *agent
	own  *owner
	env  hooks.Envelope
	id   int64  // the handoff for which it is held
	said string // what the person was told in the pane
}

// installed is the first line of the command that `understudy hooks install` writes.
const installed = "# understudy hooks install wrote this file, and uninstall removes it: changes get lost.\n"

// hookOfPrompt is the hook of a prompt, as it is sent to the daemon.
func hookOfPrompt(a *agent, prompt string) hooks.Envelope {
	_, payload := a.cli.hook(a, hooks.UserPromptSubmit, a.hooks().UserPromptSubmit(prompt))
	return a.h.envelope(a, hooks.UserPromptSubmit, mustJSON(payload))
}

// typesCommand types a prompt whose hook may be held. Where the agent runs, /handoff is installed.
func typesCommand(p *person, a *agent, prompt string) *slash {
	path := filepath.Join(a.h.config, "commands", "handoff.md")
	p.w.ok(errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(installed), 0o600)))
	s := &slash{a: a, own: &owner{name: a.h.name + " command", host: a.h}, env: hookOfPrompt(a, prompt)}
	s.env.Holds = true
	a.h.others = append(a.h.others, s.own)
	process := a.h.table.Start(a.proc.PID, nil)
	p.w.employEndless("command", func(p *person) {
		out, _, err := a.h.sendHeld(s.own, s.env, func(ctx context.Context, d *house.House, joined func(int64)) (json.RawMessage, error) {
			return d.Daemon.HookHeld(ctx, s.env, &tmux.Peer{Process: process, UID: os.Geteuid()}, func(held int64) {
				s.id = held
				joined(held)
			})
		})
		var answer struct{ Decision, Reason string }
		if err == nil && len(out) > 0 && json.Unmarshal(out, &answer) == nil && answer.Decision == "block" {
			s.said = answer.Reason
		}
		p.w.trace.note(s.own.name, "%s: the person is told %q, %v", prompt, s.said, err)
		a.h.table.End(process)
	})
	return s
}

// esc interrupts the held hook, as Esc in the pane does.
func (s *slash) esc(p *person) {
	env := hooks.Interrupted(s.env, s.id, time.Now())
	s.a.h.nonce++
	p.w.kill(s.own)
	done := s.a.h.runHook(s.a, env, false)
	p.wait("looks on", 2*time.Second, 2*time.Second)
	<-done
}

// turns returns how many turns of an agent have begun.
func turns(p *person, a *agent) (n int) {
	for _, e := range eventsOf(p, event.AgentWorking) {
		if *e.AgentID == a.id {
			n++
		}
	}
	return n
}

// TestHandoffCommandIsAnsweredAtThePane: the daemon holds a /handoff until its document is recorded, and says so at the pane: no turn begins.
// A daemon that is replaced meanwhile holds it again, and begins no second handoff. In the end the pane shows who goes on.
func TestHandoffCommandIsAnsweredAtThePane(t *testing.T) {
	for name, replaced := range map[string]bool{"one daemon": false, "two daemons": true} {
		storyAs(t, name, withWorked(func(t *testing.T, p *person, h *host, a *agent) {
			worked := turns(p, a)
			s := typesCommand(p, a, `/handoff the "parser" isn't done; $(date) `)
			p.await("the hook to be held", time.Minute, func() bool { return s.id != 0 })
			if replaced {
				p.end(h)
			}
			done := p.reach(a, daemon.Completed)
			if done.Mode != daemon.ModeGenerate || done.Focus != `the "parser" isn't done; $(date)` || done.Reason != handoffs.ReasonCommand || len(p.handoffs(a.id)) != 1 {
				t.Errorf("handoff %+v", done)
			}
			want := "Handoff 1: the document is recorded. This session ends now, and its successor takes over"
			if n := turns(p, a); !strings.HasPrefix(s.said, want) || n != worked {
				t.Errorf("the person was told %q; %d turns began", s.said, n-worked)
			}
			p.await("the outcome in the pane", time.Minute, func() bool {
				return strings.Contains(strings.Join(h.term.Messages(), "\n"), "Handoff 1 is done, agent 2 goes on: understudy agent attach 2")
			})
		}))
	}
}

// TestEscCancelsTheHandoffOfTheCommand: Esc cancels the handoff while its document is not recorded, also while no daemon runs. No turn has
// begun.
func TestEscCancelsTheHandoffOfTheCommand(t *testing.T) {
	for name, down := range map[string]bool{"the daemon runs": false, "no daemon runs": true} {
		storyAs(t, name, withWorked(func(t *testing.T, p *person, h *host, a *agent) {
			worked := turns(p, a)
			p.w.holdFirst(10*time.Second, commits("→ generating"))
			s := typesCommand(p, a, "/handoff the parser")
			p.await("the hook to be held", time.Minute, func() bool { return s.id != 0 })
			if down {
				if p.end(h); h.daemon != nil {
					t.Error("the next daemon runs already")
				}
			}
			s.esc(p)
			done := p.reach(a, daemon.Cancelled)
			if done.Error == nil || done.Error.Code != daemon.CodeCancelled || done.Error.Message != "Handoff cancelled in the agent's pane" {
				t.Errorf("error %+v", done.Error)
			}
			if n := turns(p, a); n != worked || p.row(a).State != daemon.Idle {
				t.Errorf("%d turns began, and the agent is %s", n-worked, p.row(a).State)
			}
		}))
	}
}

// TestHandoffCommandThatIsRefused: the pane shows why no handoff can start, and what to do. A command that no daemon has answered was a turn: its
// hook requests nothing when it comes out of the spool.
func TestHandoffCommandThatIsRefused(t *testing.T) {
	story(t, with(func(t *testing.T, p *person, h *host, a *agent) {
		s := typesCommand(p, a, "/handoff")
		p.await("the answer", time.Minute, func() bool { return s.said != "" })
		equal(t, "the person was told", s.said, "No handoff was started: Nothing to hand off (no messages yet).")
		p.promptOnce(a)
		spool := hooks.OpenSpool(h.dir.Spool())
		spool.Clock = h.now
		p.w.ok(spool.Put(hookOfPrompt(a, "/handoff please")))
		p.end(h)
		p.await("the hook from the spool", time.Minute, func() bool { return p.row(a).Asked == "/handoff please" })
		if list := p.handoffs(a.id); len(list) != 0 {
			t.Errorf("handoffs %+v", list)
		}
	}))
}
