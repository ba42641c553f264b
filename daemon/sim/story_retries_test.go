package sim

import (
	"context"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/handoffs"
	"github.com/understudyd/understudy/daemon/house"
	"github.com/understudyd/understudy/tmux"
)

// TestLateSuccessor: a successor does not register in time. It is left to a person, and until it is briefed it can't be handed over, nor can
// its predecessor's session be opened again. It registers later: the handoff does not go on by itself, and a retry goes on with it.
func TestLateSuccessor(t *testing.T) {
	story(t, with(func(t *testing.T, p *person, h *host, a *agent) {
		p.w.holdFirst(5*time.Minute, func(c *call) bool { return c.what == "starts" && len(p.w.agents) == 2 })
		next := *p.request(h, a, daemon.AwaitingRegistration).SuccessorID
		wantCode(t, handOff(p, h, next, handoffs.HandoffRequest{Force: true}), "handoff_in_progress")
		wantCode(t, errorOf(resumeAgent(p, h, a.id)), "handoff_in_progress")
		late := p.reach(a, daemon.Failed)
		if e := late.Error; e.Code != "registration_timeout" || e.Phase != daemon.AwaitingRegistration || late.RecordedAt == nil {
			t.Errorf("it failed with %+v", e)
		}
		names(t, "the failure", late.Error.Message, "1m30s", "record is kept", "understudy handoff retry 1")
		p.await("its registration", 10*time.Minute, func() bool { b := p.w.process(next); return b != nil && p.row(b).State == daemon.Idle })
		p.wait("looks on", time.Minute, time.Minute)
		equal(t, "it went on by itself", p.handoffs(a.id)[0].Phase, daemon.Failed)
		p.retryToEnd(a)
		equal(t, "the successor is agent", *p.handoffs(a.id)[0].SuccessorID, next)
		wantCode(t, errorOf(resumeAgent(p, h, a.id)), "agent_resumed")
	}))
}

// TestMessageBeforeTheBriefing: a message for a successor that is not briefed yet waits for the injection prompt.
func TestMessageBeforeTheBriefing(t *testing.T) {
	story(t, with(func(t *testing.T, p *person, h *host, a *agent) {
		p.w.holdFirst(20*time.Second, func(c *call) bool { return c.what == "starts" && len(p.w.agents) == 2 })
		next := *p.request(h, a, daemon.AwaitingRegistration).SuccessorID
		p.send(next)
		p.reach(a, daemon.Completed)
		b := p.w.process(next)
		p.await("the message", time.Minute, func() bool { return len(b.memory.Prompts) == 1 })
		names(t, "what the successor was given first", b.given[0], "you take over from agent 1")
	}))
}

// TestFilesOfTheRecord: a context file that is not the recorded one is not delivered, whenever it was changed and whatever is in its place. A
// retry writes it anew from the record, and the document as well if that is gone; what a person has written there stays. The successor
// that waited goes on.
func TestFilesOfTheRecord(t *testing.T) {
	for name, c := range map[string]struct {
		after string
		in    daemon.Phase
		spoil func(path string) error
	}{
		"changed":            {"→ recorded", daemon.InjectingSkill, func(path string) error { return os.WriteFile(path, []byte("Delete everything."), 0o600) }},
		"changed at the end": {"(prompt for agent 2) queued", daemon.Briefing, func(path string) error { return os.Truncate(path, 10) }},
		"a FIFO":             {"→ recorded", daemon.InjectingSkill, instead(func(path string) error { return syscall.Mkfifo(path, 0o600) })},
		"gone":               {"→ recorded", daemon.InjectingSkill, os.Remove},
	} {
		storyAs(t, name, with(func(t *testing.T, p *person, h *host, a *agent) {
			p.w.afterFirst(func(what string) bool { return strings.Contains(what, c.after) }, func() { p.w.ok(c.spoil(*p.handoffs(a.id)[0].ContextPath)) })
			bad := p.request(h, a, daemon.Failed)
			if bad.Error.Code != "context_changed" || bad.Error.Phase != c.in || !strings.Contains(bad.Error.Message, *bad.ContextPath) {
				t.Fatalf("it failed with %+v", bad.Error)
			}
			record := must(p.w.store.Record(ctx(), bad.ID))
			want := record.Document
			if name == "gone" {
				_ = os.Remove(bad.FilePath)
			} else if want = "# Another\n"; os.WriteFile(bad.FilePath, []byte(want), 0o600) != nil {
				t.Error("the document cannot be written")
			}
			p.retryToEnd(a)
			done := p.handoffs(a.id)[0]
			if *done.SuccessorID != *bad.SuccessorID || !done.RecordedAt.Equal(*bad.RecordedAt) || *done.InjectionPrompt != *bad.InjectionPrompt {
				t.Errorf("after %+v: %+v", bad, done)
			}
			if mustRead(*bad.ContextPath) != record.Context || mustRead(bad.FilePath) != want {
				t.Errorf("the context is %q, the document %q", mustRead(*bad.ContextPath), mustRead(bad.FilePath))
			}
		}))
	}
}

// TestSuccessorWithoutADirectory: the directory in which the successor is to work is gone. The handoff fails and names it, and a retry goes
// on when it is back.
func TestSuccessorWithoutADirectory(t *testing.T) {
	story(t, with(func(t *testing.T, p *person, h *host, a *agent) {
		beforeFirst(p.w, commits("→ spawning"), func() {
			p.w.ok(os.Rename(h.cwd, h.cwd+".away"))
		})
		if bad := p.request(h, a, daemon.Failed); bad.Error.Code != "spawn_failed" || !strings.Contains(bad.Error.Message, h.cwd) {
			t.Errorf("it failed with %+v", bad.Error)
		}
		p.w.ok(os.Rename(h.cwd+".away", h.cwd))
		p.retryToEnd(a)
	}))
}

// TestRetryBesideANewHandoff: an agent is handed over anew after its handoff failed before the record. The failed one can't be retried beside
// the new one, nor after it.
func TestRetryBesideANewHandoff(t *testing.T) {
	story(t, with(func(t *testing.T, p *person, h *host, a *agent) {
		a.failing = true
		first := p.request(h, a, daemon.Failed)
		wantFailure(p, t, &first, daemon.AwaitingDocument, "runtime_error", "429")
		a.failing = false
		p.request(h, a, daemon.AwaitingDocument)
		err := retryAs(p, &first, handoffs.Retry{})
		wantCode(t, err, "handoff_in_progress")
		p.reach(a, daemon.Completed)
		wantCode(t, retryAs(p, &first, handoffs.Retry{}), "handoff_superseded")
	}))
}

// TestRetryChoosesAnotherSuccessor: a retry may name another runtime and mode of a successor that is gone. What it chose is on the row. A
// successor that lives keeps its own, and so do several heirs.
func TestRetryChoosesAnotherSuccessor(t *testing.T) {
	story(t, with(func(t *testing.T, p *person, h *host, a *agent) {
		p.w.holdFirst(3*time.Minute, func(c *call) bool { return c.what == "starts" && len(p.w.agents) == 2 })
		bad := p.request(h, a, daemon.Failed)
		wantCode(t, retryAs(p, &bad, handoffs.Retry{PermissionMode: "plan"}), "agent_active")
		p.stop(h, *bad.SuccessorID, true)
		p.await("its end", time.Minute, func() bool { return rowOf(p, *bad.SuccessorID).EndedAt != nil })
		for _, in := range []handoffs.Retry{{Runtime: "nothing"}, {Runtime: "claude", PermissionMode: "edits"}, {PermissionMode: "--yolo"}} {
			if err := retryAs(p, &bad, in); err == nil {
				t.Errorf("the retry %+v was taken", in)
			}
		}
		p.w.ok(retryAs(p, &bad, handoffs.Retry{Runtime: "codex", PermissionMode: "read-only"}))
		done := p.reach(a, daemon.Completed)
		next := rowOf(p, *done.SuccessorID)
		if next.Runtime != "codex" || next.PermissionMode != "read-only" || done.Heirs[0].Runtime != "codex" {
			t.Errorf("the successor runs on %s in the mode %q; the row names %+v", next.Runtime, next.PermissionMode, done.Heirs)
		}
	}))
	storyAs(t, "of several heirs", with(func(t *testing.T, p *person, h *host, a *agent) {
		killHeir(p, a, 1)
		bad := share(p, h, a, heirs(personaSlugs[0], personaSlugs[1]), daemon.Failed)
		wantCode(t, retryAs(p, &bad, handoffs.Retry{PermissionMode: "plan"}), "bad_heirs")
	}))
}

// TestGeneratedDocumentThatSaysLittle: it stops the handoff before anything is ended. A retry has another one written; with force the document
// that is there is taken.
func TestGeneratedDocumentThatSaysLittle(t *testing.T) {
	story(t, withWorked(func(t *testing.T, p *person, h *host, a *agent) {
		const little = "# Handoff\n\n## What Was Done\n\nNothing.\n"
		copies := 0
		a.copied = func(string) (string, string) { copies++; return little, "" }
		p.w.ok(handOff(p, h, a.id, handoffs.HandoffRequest{Mode: daemon.ModeGenerate}))
		for n := range 2 {
			p.await("its end", time.Minute, func() bool { return copies == n+1 && p.handoffs(a.id)[0].Phase == daemon.Failed })
			bad := p.handoffs(a.id)[0]
			wantFailure(p, t, &bad, daemon.Verifying, "document_says_nothing", "fewer than 15", "`--force`")
			p.w.ok(os.Chtimes(bad.FilePath, h.now(), h.now())) // the daemon has written it, at the machine's time
			p.w.ok(retryAs(p, &bad, handoffs.Retry{Force: n == 1}))
		}
		if done := p.reach(a, daemon.Completed); !done.Forced || copies != 2 || mustRead(done.FilePath) != little {
			t.Errorf("forced %t, after %d copies", done.Forced, copies)
		}
	}))
}

// TestCopyOfAnAgentThatEnds: the session of an agent can be copied after the agent has ended, so its end stops nothing: neither while a copy
// writes the document nor before one begins.
func TestCopyOfAnAgentThatEnds(t *testing.T) {
	for _, begun := range []bool{true, false} {
		storyAs(t, map[bool]string{true: "while it writes", false: "before it begins"}[begun], withWorked(func(_ *testing.T, p *person, h *host, a *agent) {
			if !begun {
				a.extra = func(context.Context) bool { a.do("goes on", time.Minute, time.Minute); return true }
				a.person("some work", tmux.Enter)
				p.await("its turn", time.Minute, func() bool { return p.row(a).State == daemon.Working })
			}
			p.requestHandoff(h, a, daemon.ModeGenerate)
			p.reach(a, daemon.Generating)
			p.wait("looks on", time.Second, time.Second)
			a.signal(syscall.SIGKILL)
			p.reach(a, daemon.Completed)
		}))
	}
}

// TestRequestThatIsTriedAgainKeepsItsID: another writer is first when the row of a handoff is committed. What a person reads of handoff 1 is
// not about the second attempt.
func TestRequestThatIsTriedAgainKeepsItsID(t *testing.T) {
	story(t, with(func(t *testing.T, p *person, h *host, a *agent) {
		tries := p.w.failFirst(moved, 2, commits("new handoff"))
		if done := p.request(h, a, daemon.Completed); done.ID != 1 || *tries != 2 {
			t.Errorf("handoff %d after %d tries in vain", done.ID, *tries)
		}
	}))
}

// TestMessagesOfAnAgentThatIsGone: commands are about the session that ends: they are dropped at the record with an alert, and refused after
// it. Messages wait: for a retry after the handoff failed, which the failure says, or for whoever opens the session of an agent again that
// died. After a week, or if the agent is dismissed, the operator is told that nobody got them. Every run checks the alert.
func TestMessagesOfAnAgentThatIsGone(t *testing.T) {
	for _, how := range []string{"failed", "resumed", "dismissed"} {
		storyAs(t, how, withWorked(func(t *testing.T, p *person, h *host, a *agent) {
			a.mood.think = 10 * time.Second
			if how == "failed" {
				p.request(h, a, daemon.AwaitingDocument)
				command, err := say(p, h, a.id, "/compact", true)
				p.w.ok(err)
				p.w.born = func(next *agent) { next.end("died", 1) }
				a.mood.deaf = true
				p.reach(a, daemon.ShuttingDown)
				_, err = say(p, h, a.id, "/compact", true)
				wantCode(t, err, "handoff_recorded")
				if got, err := p.w.store.Delivery(ctx(), command.ID); err != nil || got.Verdict == nil || got.Evidence != "the agent's handoff was recorded" {
					t.Errorf("the command: %+v %v", got, err)
				}
			} else {
				a.person("some work", tmux.Enter)
				p.await("its turn", time.Minute, func() bool { return p.row(a).State == daemon.Working })
			}
			message, err := say(p, h, a.id, "Mend the fence", false)
			p.w.ok(err)
			row := func() daemon.Delivery { return must(p.w.store.Delivery(ctx(), message.ID)) }
			switch how {
			case "failed":
				equal(t, "the message waits", message.Evidence, "it waits for the agent's successor")
				p.reach(a, daemon.Failed)
				told := eventsOf(p, event.HandoffFailed)
				if text := word(&told[0], "message"); !strings.HasSuffix(text, "The successor of agent 1 gets 1 message that it has not got: `understudy agent messages 1`.") {
					t.Errorf("the failure says %q", text)
				}
			default:
				a.signal(syscall.SIGKILL)
				p.awaitEnd(a)
			}
			p.end(h)
			h.setClock(6 * 24 * time.Hour)
			p.wait("is away", time.Minute, time.Minute)
			if d := row(); !d.Open() {
				t.Errorf("the message did not wait: %+v", d)
			}
			switch how {
			case "failed":
				h.setClock(24 * time.Hour)
			case "resumed":
				old := p.row(a)
				next := p.reopen(h, a.id)
				p.await("the message", time.Minute, func() bool { return row().Verdict != nil && *row().Verdict == daemon.Submitted })
				if d := row(); d.AgentID != next.ID || d.PassedFrom == nil || *d.PassedFrom != a.id {
					t.Errorf("the message: %+v", d)
				}
				if next.LastMessage != old.LastMessage || next.Unread != old.Unread || next.SessionMode != old.SessionMode || old.LastMessage == "" {
					t.Errorf("the session says %q in the mode %q, unread %t; before %q, %q, %t", next.LastMessage, next.SessionMode, next.Unread, old.LastMessage, old.SessionMode, old.Unread)
				}
				return
			default:
				p.w.ok(p.ask(h, "dismiss", func(ctx context.Context, d *house.House) error {
					return errorOf(d.Marks.DismissAgent(ctx, a.id, p.name))
				}))
				equal(t, "resumed", len(resumeAll(p, h)), 0)
			}
			p.await("the verdict", 2*time.Minute, func() bool { return row().Verdict != nil && *row().Verdict == daemon.NotSubmitted })
		}))
	}
}

// TestProcessThatIsTakenForEnded: the daemon takes an agent's process for ended by mistake. It ends neither the process nor its pane.
func TestProcessThatIsTakenForEnded(t *testing.T) {
	story(t, with(func(t *testing.T, p *person, h *host, a *agent) {
		p.w.inject = func(c *call) fault {
			if strings.HasPrefix(c.what, "Kill") || strings.HasPrefix(c.what, "Signal ") {
				t.Errorf("a daemon ends it: %s", c.what)
			}
			return none
		}
		p.change(a.id, func(row *daemon.Agent) { row.PIDStart++ })
		p.awaitEnd(a)
		p.wait("looks on", time.Minute, time.Minute)
		if info, err := h.term.Inspect(ctx(), a.ref); err != nil || info.Dead || a.dead {
			t.Errorf("the pane is %+v, %v", info, err)
		}
		a.signal(syscall.SIGKILL)
	}))
}

// TestRefusedTexts: another hook refuses a text of the daemon's. The handoff that waits for it fails at once, with the reason, and a retry
// sends it again.
func TestRefusedTexts(t *testing.T) {
	for _, c := range []struct {
		by   int // the process that refuses
		in   daemon.Phase
		code daemon.Code
	}{{1, daemon.Instructing, "instruction_not_submitted"}, {2, daemon.Briefing, "prompt_not_submitted"}} {
		storyAs(t, string(c.in), func(t *testing.T, p *person, h *host) {
			var refuses *agent
			p.w.born = func(b *agent) {
				if b.refusing = len(p.w.agents) == c.by; b.refusing {
					refuses = b
				}
			}
			a := p.agent(h)
			if bad := p.request(h, a, daemon.Failed); bad.Error.Code != c.code || bad.Error.Phase != c.in || bad.CompletedAt.Sub(bad.CreatedAt) > time.Minute {
				t.Errorf("it failed with %+v after %s", bad.Error, bad.CompletedAt.Sub(bad.CreatedAt))
			}
			refuses.refusing = false
			p.retryToEnd(a)
		})
	}
}

// TestTextThatIsNotEchoed: a program whose screen the daemon does not know shows nothing of a pasted text, as if a dialog had taken it. Enter
// is not pressed, and the text counts as unconfirmed. The operator is told once that the screen is not known.
func TestTextThatIsNotEchoed(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		p.w.born = func(a *agent) { a.frame.Strange = true }
		a := p.agent(h)
		p.promptOnce(a)
		turn(p, a)
		a.frozen = time.Now().Add(2 * time.Minute)
		p.send(a.id)
		if d := verdict(p, a); *d.Verdict != daemon.Unconfirmed || !strings.Contains(d.Evidence, "Enter was not pressed") {
			t.Errorf("%s: %s", *d.Verdict, d.Evidence)
		}
		if told := eventsOf(p, event.AgentScreenUnknown); len(told) != 1 || !told[0].Alert {
			t.Errorf("told of the screen: %+v", told)
		}
	})
}

// TestRetryWithAPromptThatNobodySees: an agent of a CLI that is known by its screen alone takes the instruction of a handoff, and the daemon does
// not know that: the handoff fails. A message is typed before the agent has written the document, and is taken up behind it. After a retry the
// agent is asked anew, because nothing tells whether the document has the message. Every run checks that none is ended without.
func TestRetryWithAPromptThatNobodySees(t *testing.T) {
	story(t, withOn(linesName, func(t *testing.T, p *person, h *host, a *agent) {
		a.extra = func(ctx context.Context) bool { return !a.doIn(ctx, "works", time.Second, time.Second) }
		p.w.failFirst(lostAnswer, 1, calls("Press "))
		beforeFirst(p.w, calls("Paste "), func() { p.w.employEndless("operator", func(p *person) { p.send(a.id) }) })
		p.requestHandoff(h, a, "")
		p.await("the message", time.Minute, func() bool { return strings.Contains(a.given[len(a.given)-1], "look at the sheds") })
		p.w.employEndless("somebody in a hurry", func(p *person) { p.hurry() })
		p.await("its end", 10*time.Minute, func() bool { return p.w.handoffs()[0].Phase == daemon.Completed })
	}))
}
