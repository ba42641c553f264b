//go:build e2e

package stories

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/understudyd/understudy/cmd/internal/serve"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/db"
)

// These stories show what pipelines do to real processes.

// TestStepPromptIsInNoListOfProcesses: The prompt of a step is typed, or stands in a file of the agent's, and never on a command line, which
// every account of the machine can read.
func TestStepPromptIsInNoListOfProcesses(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	held, release := holdingStep(r, "developer")
	writeTemplate(r, "held", held)
	r.start()
	const secret = "the-roof-is-made-of-gold"
	id := startPipeline(r, "held", "Mend it: "+secret).ID
	a := awaitWorkingAgent(r, id, 1)
	r.wantTold(a.ID, secret)
	seen := 0
	for _, file := range value(filepath.Glob("/proc/[0-9]*/cmdline"))(t) {
		line, err := os.ReadFile(file)
		if err == nil {
			seen++
		}
		if strings.Contains(string(line), secret) {
			t.Errorf("%s: %q", file, line)
		}
	}
	if seen == 0 {
		t.Error("no process can be seen")
	}
	release()
	awaitPipeline(r, id, daemon.PipelineDone)
	r.awaitState(a.ID, daemon.Ended)
	r.wantKinds(a.ID, daemon.KindMessage, daemon.KindExit)
}

// TestStepPromptArrives: A composer changes some texts. Such a prompt stands in a file, and the agent is told which.
func TestStepPromptArrives(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	writeTemplate(r, "one", "developer")
	r.start()
	const file = "/task.md: read all of it first"
	long := strings.Repeat("0123456789 abcdefghijklmnopqrstuvwxyz \"quoted\" ünïcödé\n", 1000) + "the end"
	wants := map[int64]string{}
	for prompt, want := range map[string]string{
		"Mend the roof.": "Mend the roof.",
		"$(touch pwned) ${HOME} $HOME; rm -rf x && echo %s %d 'a' `b` \\ c # no comment": "$(touch pwned) ${HOME} $HOME; rm -rf x && echo %s %d 'a' `b` \\ c # no comment",
		"Grüße, 日本語, 👩‍🚀, e\u0301, \u00a0 and \u202eright to left\u202c.":                "Grüße, 日本語, 👩‍🚀, e\u0301, \u00a0 and \u202eright to left\u202c.",
		"-p --model x: begins like a flag":                                               "-p --model x: begins like a flag",
		" \nblanks around it\n\n ":                                                       "blanks around it",
		"/etc/notes.md is a path, and so is /":                                           "Request:\n\n/etc/notes.md is a path, and so is /",
		long:                                                                             long,
		"!ls is no command here":                                                         file,
		"a\ttab":                                                                         file,
		"CRLF\r\nand a lone\rCR":                                                         file,
		long + long:                                                                      file,
	} {
		p := startPipeline(r, "one", prompt)
		if wants[p.ID] = want; p.Prompt != prompt {
			t.Errorf("pipeline keeps the prompt %.200q, want %.200q", p.Prompt, prompt)
		}
	}
	for id, want := range wants {
		a := awaitPipeline(r, id, daemon.PipelineDone).Steps[0].AgentIDs[0]
		got := r.told(a)
		whole := func() string { return strings.TrimSpace(runtimes.Wrapper().ReplaceAllString(got[0], "")) }
		if len(got) != 1 || whole() != want && (want != file || !strings.Contains(got[0], want)) {
			t.Errorf("agent %d was told %.2000q, want %.200q", a, got, want)
		}
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
