package stories

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/understudyd/understudy/daemon"
)

// TestRetryByGenerateKeepsABadDocumentAside: In mode generate a retry asks for a new document although a bad one
// exists. The bad one is renamed and kept.
func TestRetryByGenerateKeepsABadDocumentAside(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		f := r.recordForks()
		r.start()
		a := r.startSpokenTo()
		r.misbehave("blank-document")
		h := r.awaitFailure(r.requestHandoff(a.ID), daemon.Verifying, "document_blank")
		r.misbehave("")
		if _, err := r.client.RetryHandoff(t.Context(), h.ID, daemon.ModeGenerate); err != nil {
			t.Fatal(err)
		}
		h = r.awaitPhase(h.ID, daemon.Completed)
		if n := len(f.prompts()); n != 1 || h.Structured == nil {
			t.Errorf("%d forks wrote the fields %v, want one fork and fields", n, h.Structured)
		}
		aside := strings.TrimSuffix(h.FilePath, ".md") + ".aside.md"
		if strings.TrimSpace(r.readFile(aside)) != "" {
			t.Error("the file that was renamed is not the bad document")
		}
	})
}

// TestRetryRefusesADocumentOlderThanNewWork: The agent was given more work after it wrote the document. The daemon
// does not hand that document over: it asks the agent again, and the new document contains the work.
func TestRetryRefusesADocumentOlderThanNewWork(t *testing.T) {
	t.Parallel()
	for _, mode := range []daemon.Mode{daemon.ModeAgent, daemon.ModeGenerate} {
		t.Run(string(mode), func(t *testing.T) {
			story(t, func(t *testing.T, r *rig) {
				r.start()
				a := r.startSpokenTo()
				r.misbehave("no-document")
				h := r.awaitFailure(r.requestHandoff(a.ID), daemon.Verifying, "document_missing")
				r.writeDocument(h) // The agent was too slow and writes it late.
				r.misbehave("")
				r.talk(a.ID, "and then the renderer")
				if _, err := r.client.RetryHandoff(t.Context(), h.ID, mode); err != nil {
					t.Fatal(err)
				}
				h = r.awaitPhase(h.ID, daemon.Completed)
				if !strings.Contains(r.readFile(h.FilePath), "and then the renderer") {
					t.Errorf("the work since is not in the document:\n%s", r.readFile(h.FilePath))
				}
			})
		})
	}
}

func TestRetryTakesADocumentNewerThanThePrompt(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		a := r.startSpokenTo()
		r.misbehave("no-document")
		h := r.awaitFailure(r.requestHandoff(a.ID), daemon.Verifying, "document_missing")
		r.talk(a.ID, "and then the renderer")
		r.writeDocument(h)
		r.retryHandoff(h.ID)
		h = r.awaitPhase(h.ID, daemon.Completed)
		if text := r.readFile(h.FilePath); !strings.Contains(text, "All.") {
			t.Errorf("the document was not taken:\n%s", text)
		}
	})
}

// TestFifoAsContextFileIsANamedFailure: The agent puts a FIFO in place of the context file. The handoff fails with a
// code, and the daemon does not hang.
func TestFifoAsContextFileIsANamedFailure(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		a := r.startSpokenTo()
		r.misbehave("crash-at-start")
		h := r.awaitFailure(r.requestHandoff(a.ID), daemon.AwaitingRegistration, "successor_gone")
		context := r.readFile(*h.ContextPath)
		r.misbehave("slow-start=700ms")
		r.retryHandoff(h.ID)
		r.awaitPhase(h.ID, daemon.AwaitingRegistration)
		if err := os.Remove(*h.ContextPath); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mkfifo(*h.ContextPath, 0o600); err != nil {
			t.Fatal(err)
		}
		h = r.awaitFailure(h.ID, daemon.InjectingSkill, "context_changed")
		if b, err := r.client.ContextFile(t.Context(), h.ID); err != nil || string(b) != context {
			t.Errorf("the recorded context is not shown: %v, %.80q", err, b)
		}
		if err := os.Remove(*h.ContextPath); err != nil {
			t.Fatal(err)
		}
		r.misbehave("")
		r.retryHandoff(h.ID)
		r.awaitPhase(h.ID, daemon.Completed)
		if r.readFile(*h.ContextPath) != context {
			t.Error("the context file was not written anew")
		}
	})
}
