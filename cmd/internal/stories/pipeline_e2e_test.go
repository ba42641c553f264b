//go:build e2e

package stories

import (
	"os"
	"strings"
	"testing"

	"github.com/understudyd/understudy/cmd/internal/serve"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/db"
)

// These stories show what pipelines do to real processes.

// TestPipelinePromptArrivesByteForByte: The first prompt reaches the agent byte for byte, whatever bytes it has.
// Nothing is typed and nothing is added.
func TestPipelinePromptArrivesByteForByte(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	writeTemplate(r, "one", "developer")
	r.start()
	wants := map[int64]string{}
	for _, prompt := range []string{
		"Mend the roof.",
		"Two\nlines,\tand a \"tab\" in 'quotes' with a \\ and `backticks`.",
		"$(touch pwned) ${HOME} $HOME; rm -rf x && echo %s %d # no comment",
		"CRLF\r\nand a lone\rCR\n\n\nand three line feeds",
		"Grüße, 日本語, 👩‍🚀, e\u0301, \u00a0 and \u202eright to left\u202c.",
		"-p --model x: begins like a flag",
		"!ls is no command here",
		" \n\tblanks around it\n\n ",
		"/etc/notes.md is a path, and so is /etc",
		strings.Repeat("0123456789 abcdefghijklmnopqrstuvwxyz \"quoted\" ünïcödé\n", 1800) + "the end",
	} {
		want := prompt
		if strings.HasPrefix(prompt, "/") {
			want = "Request:\n\n" + prompt
		}
		if len(prompt) > 1000 && (len(prompt) < 100_000 || len(prompt) > 120_000) {
			t.Fatalf("%d bytes", len(prompt))
		}
		p := startPipeline(r, "one", prompt)
		if wants[p.ID] = want; p.Prompt != prompt {
			t.Errorf("pipeline keeps the prompt %.200q, want %.200q", p.Prompt, prompt)
		}
	}
	for id, want := range wants {
		wantOnlyPrompt(r, awaitPipeline(r, id, daemon.PipelineDone).Steps[0].AgentIDs[0], want)
	}
	if _, err := os.Stat(r.work + "/pwned"); err == nil {
		t.Error("a prompt was run by a shell")
	}
}

// TestSecondDaemonOfAHostIsRefused: It starts neither in the same data directory nor in another one. When the first
// daemon is killed, the second one goes on with its pipelines.
func TestSecondDaemonOfAHostIsRefused(t *testing.T) {
	t.Parallel()
	r, other := newRig(t), newRig(t)
	held, release := holdingStep(r, "developer")
	writeTemplate(r, "held", held, "reviewer")
	first := startDaemonChild(r)
	id := startPipeline(r, "held", roof).ID
	awaitWorkingAgent(r, id, 1)
	wantErr(t, "a second daemon in the data directory", serve.Run(t.Context(), r.cfg), "another daemon")
	other.cfg.Settings.DatabaseURL, other.cfg.Host = r.cfg.Settings.DatabaseURL, getPipeline(r, id).Host
	wantErr(t, "a second daemon of the host elsewhere", serve.Run(t.Context(), other.cfg), db.ErrHostTaken)
	first.kill()
	r.start()
	release()
	wantOneAgentPerStep(r, awaitPipeline(r, id, daemon.PipelineDone))
	wantPipelineEvents(r, id, "step_running", 2)
	wantPipelineEvents(r, id, "step_done", 2)
}
