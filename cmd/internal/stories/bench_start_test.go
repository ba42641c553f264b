package stories

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/understudyd/understudy/cmd/internal/serve"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

// BenchmarkStart compares processes, from start to exit, with one that only exits. They run in turn, so that other
// work on the machine affects them alike. Each ratio is one of two medians.
func BenchmarkStart(b *testing.B) {
	r := benchRig(b)
	r.start()
	a := r.startAgent("developer-con-1")
	body := wardentest.Value(json.Marshal(map[string]any{"hook_event_name": "Stop", "session_id": *a.SessionID, "stop_hook_active": false}))(b)
	socket := filepath.Join(r.root, "run", "hook.sock")
	processes := []struct {
		name string
		argv []string
	}{
		{"empty", []string{emptyProgram(b)}},
		{"hook", []string{r.cfg.HookBinary, "hook", "--socket", socket, "Stop"}},
		{"statusline", []string{r.cfg.HookBinary, "statusline"}},
		{"main-hook", []string{r.cfg.Binary, "hook", "--socket", socket, "Stop"}},
		{"version", []string{r.cfg.Binary, "--version"}},
	}
	took := make([][]time.Duration, len(processes))
	for b.Loop() {
		for i, p := range processes {
			cmd := exec.Command(p.argv[0], p.argv[1:]...)
			cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
			cmd.Stdin = bytes.NewReader(body)
			started := time.Now()
			if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 && p.name != "version" {
				b.Fatalf("%s: %v %s", p.name, err, out)
			}
			took[i] = append(took[i], time.Since(started))
		}
	}
	for i, p := range processes {
		quantiles(b, p.name, took[i]) // quantiles sorts them.
		if i > 0 {
			b.ReportMetric(float64(median(took[i]))/float64(median(took[0])), p.name+"-ratio")
		}
	}
}

func median(sorted []time.Duration) time.Duration { return sorted[len(sorted)/2] }

// emptyProgram is a Go program that only exits.
func emptyProgram(b *testing.B) string {
	b.Helper()
	dir := b.TempDir()
	source, bin := filepath.Join(dir, "main.go"), filepath.Join(dir, "empty")
	must(b, os.WriteFile(source, []byte("package main\n\nfunc main() {}\n"), 0o600))
	if out, err := exec.Command("go", "build", "-o", bin, source).CombinedOutput(); err != nil {
		b.Fatalf("go build: %v\n%s", err, out)
	}
	return bin
}

// bothPrograms runs a benchmark twice: with understudy-hook for the hooks and a small program for the agents, and
// with understudy for both. The agents of the second run are this test binary, which acts as understudy too: the
// shipped agent takes 30 ms for each answer.
func bothPrograms(b *testing.B, run func(*testing.B, *rig)) {
	b.Run("programs of their own", func(b *testing.B) { run(b, benchRig(b)) })
	b.Run("understudy", func(b *testing.B) {
		r := benchRig(b)
		r.cfg.HookBinary = ""
		r.cfg.Settings.Runtimes["claude"] = serve.RuntimeSettings{Command: []string{os.Args[0], "scripted-agent"}}
		run(b, r)
	})
}

// loaded returns n, or a tenth of it with -short.
func loaded(n int) int {
	if testing.Short() {
		return n / 10
	}
	return n
}

// BenchmarkFleet hands over 50 agents at once, among 200. Meanwhile it requests handoffs of one other agent and
// cancels each. Run it with -benchtime 1x.
func BenchmarkFleet(b *testing.B) { bothPrograms(b, benchmarkFleet) }

func benchmarkFleet(b *testing.B, r *rig) {
	fleet, handedOver := loaded(200), loaded(50)
	r.start()
	b.Cleanup(func() { // tmux takes long to end so many agents.
		r.halt()
		killTmux(r)
	})
	ids := startAgents(r, fleet)
	value(r.client.SendMessage(b.Context(), ids[0], "@hold "+filepath.Join(r.work, "go on"), false))(b)
	r.awaitAgent(ids[0], "working", func(a daemon.Agent) bool { return a.State == daemon.Working })
	var all, triggers []time.Duration
	for b.Loop() {
		all = append(all, handOverAtOnce(r, ids[1:1+handedOver], func(stop <-chan struct{}) {
			triggers = append(triggers, r.triggers(ids[0], stop)...)
		}))
	}
	slices.Sort(all)
	b.ReportMetric(median(all).Seconds(), "fleet-s")
	quantiles(b, "trigger", triggers)
	b.Logf("%d handoffs at once among %d agents: %s; %d triggers meanwhile, p50 %s", handedOver, fleet, median(all), len(triggers), median(triggers))
}
