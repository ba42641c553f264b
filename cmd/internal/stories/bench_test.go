package stories

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/api"
	"github.com/understudyd/understudy/cmd/internal/cmdtest"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/handoffs"
	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

// These benchmarks measure the figures that the project promises. Run them with
//
//	go test -tags e2e -run '^$' -bench . ./cmd/internal/stories
//
// They depend on what else the machine does: compare only figures of one run. With -short, those that load the daemon
// load it a tenth as much: that shows that they work and says nothing of its speed. The command that makes
// docs/performance.md is `just performance`.

// quantiles reports the median and the 99th percentile of the measured times.
func quantiles(b *testing.B, name string, all []time.Duration) {
	b.Helper()
	slices.Sort(all)
	at := func(p float64) float64 { return float64(all[int(p*float64(len(all)-1))].Microseconds()) / 1000 }
	b.ReportMetric(at(0.50), name+"-p50-ms")
	b.ReportMetric(at(0.99), name+"-p99-ms")
	b.ReportMetric(0, "ns/op")
}

// benchRig is a rig that runs the real binary.
func benchRig(b *testing.B) *rig {
	b.Helper()
	r := newRig(b)
	r.cfg.Binary = cmdtest.MainProgram(b)
	r.misbehave("think=0")
	return r
}

// BenchmarkHandoff measures a whole handoff of an agent that answers at once. Our own share is its time without the
// two phases in which we wait for the agent's process: its turn and its start. It still contains the agent's exit.
func BenchmarkHandoff(b *testing.B) { bothPrograms(b, benchmarkHandoff) }

func benchmarkHandoff(b *testing.B, r *rig) {
	r.start()
	a := r.startAgent("developer-con-1")
	var total, own []time.Duration
	phases := map[daemon.Phase][]time.Duration{}
	for b.Loop() {
		h := r.awaitPhase(r.requestHandoff(a.ID), daemon.Completed) // The times in the row are exact; those of polling are not.
		took := h.CompletedAt.Sub(h.CreatedAt)
		total = append(total, took)
		theirs := h.Metrics.Phases[daemon.AwaitingDocument] + h.Metrics.Phases[daemon.AwaitingRegistration]
		own = append(own, took-time.Duration(theirs)*time.Millisecond)
		for p, ms := range h.Metrics.Phases {
			phases[p] = append(phases[p], time.Duration(ms)*time.Millisecond)
		}
		a = r.awaitAgent(*h.SuccessorID, "idle", func(a daemon.Agent) bool { return a.State == daemon.Idle })
	}
	quantiles(b, "handoff", total)
	quantiles(b, "own-share", own)
	for _, p := range slices.Sorted(maps.Keys(phases)) {
		slices.Sort(phases[p])
		b.ReportMetric(float64(median(phases[p]).Milliseconds()), strings.ReplaceAll(string(p), "_", "-")+"-ms")
	}
}

// BenchmarkTrigger measures the POST that requests a handoff, over the unix socket, until its answer. It cancels each
// handoff, because an agent can have only one at a time.
func BenchmarkTrigger(b *testing.B) {
	r := benchRig(b)
	r.start()
	a := r.startAgent("developer-con-1")
	value(r.client.SendMessage(b.Context(), a.ID, "@hold "+filepath.Join(r.work, "go on"), false))(b)
	r.awaitAgent(a.ID, "working", func(a daemon.Agent) bool { return a.State == daemon.Working })
	var all []time.Duration
	for b.Loop() {
		started := time.Now()
		value(r.client.RequestHandoff(b.Context(), a.ID, handoffs.HandoffRequest{Force: true}))(b)
		all = append(all, time.Since(started))
		value(r.client.CancelHandoff(b.Context(), a.ID, 0))(b)
	}
	quantiles(b, "trigger", all)
}

// BenchmarkDelivery measures a message of 2 kB from the POST until the runtime confirms it.
func BenchmarkDelivery(b *testing.B) {
	r := benchRig(b)
	r.start()
	a := r.startAgent("developer-con-1")
	text := strings.Repeat("All work and no play makes a dull agent. ", 50)
	var all []time.Duration
	for i := 0; b.Loop(); i++ {
		dl := wardentest.Value(r.client.SendMessage(b.Context(), a.ID, fmt.Sprintf("%d %s", i, text), false))(b)
		r.await("the delivery's verdict", func() (bool, string) {
			list, err := r.client.Messages(context.Background(), a.ID, api.ListOptions{Limit: 1})
			if err != nil || len(list) == 0 || list[0].ID != dl.ID || list[0].Verdict == nil {
				return false, "no verdict yet"
			}
			all = append(all, list[0].DecidedAt.Sub(list[0].CreatedAt))
			return true, ""
		})
		r.awaitAgent(a.ID, "idle", func(a daemon.Agent) bool { return a.State == daemon.Idle })
	}
	quantiles(b, "delivery", all)
}

// BenchmarkHook measures the hook's process from its start to its exit. A daemon answers it and stores the hook.
func BenchmarkHook(b *testing.B) {
	r := benchRig(b)
	r.start()
	a := r.startAgent("developer-con-1")
	body := wardentest.Value(json.Marshal(map[string]any{"hook_event_name": "Stop", "session_id": *a.SessionID, "stop_hook_active": false}))(b)
	var all []time.Duration
	for b.Loop() {
		cmd := exec.Command(r.cfg.HookBinary, "hook", "--socket", filepath.Join(r.root, "run", "hook.sock"), "Stop")
		cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
		cmd.Stdin = bytes.NewReader(body)
		started := time.Now()
		if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
			b.Fatalf("hook: %v %s", err, out)
		}
		all = append(all, time.Since(started))
	}
	quantiles(b, "hook", all)
}

// BenchmarkIdle measures what a daemon with ten idle agents costs over five seconds.
func BenchmarkIdle(b *testing.B) {
	r := benchRig(b)
	cmd := serveProcess(r)
	for range 10 {
		r.startAgent("developer-con-1")
	}
	span := 5 * time.Second
	var share []float64
	for b.Loop() {
		before := cpuTicks(b, cmd.Process.Pid)
		timer := time.NewTimer(span)
		<-timer.C
		share = append(share, float64(cpuTicks(b, cmd.Process.Pid)-before)/100/span.Seconds()*100)
	}
	slices.Sort(share)
	b.ReportMetric(share[len(share)/2], "cpu-percent")
	b.ReportMetric(rssMB(b, cmd.Process.Pid), "rss-MB")
	b.ReportMetric(0, "ns/op")
}

// serveProcess runs the real binary as the daemon and waits until it answers.
func serveProcess(r *rig) *exec.Cmd {
	r.t.Helper()
	config := fmt.Sprintf("listen: none\ndatabase_url: %q\nnotify: {desktop: false}\nruntimes:\n  claude: {command: [%q]}\n",
		r.cfg.Settings.DatabaseURL, cmdtest.AgentProgram(r.t))
	must(r.t, os.WriteFile(filepath.Join(r.root, "config.yaml"), []byte(config), 0o600))
	cmd := exec.Command(r.cfg.Binary, "serve", "--data", r.root)
	cmd.Env = r.cfg.Environ
	must(r.t, cmd.Start())
	r.t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	})
	r.await("the daemon answers", func() (bool, string) {
		_, err := r.client.Ready(context.Background())
		return err == nil, fmt.Sprint(err)
	})
	return cmd
}

// cpuTicks returns the processor time a process has used, in hundredths of a second.
func cpuTicks(b *testing.B, pid int) int64 {
	b.Helper()
	stat := wardentest.Value(os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)))(b)
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	user, _ := strconv.ParseInt(fields[11], 10, 64)
	system, _ := strconv.ParseInt(fields[12], 10, 64)
	return user + system
}

func rssMB(b *testing.B, pid int) float64 {
	b.Helper()
	status := wardentest.Value(os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)))(b)
	for line := range strings.Lines(string(status)) {
		if v, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kb, _ := strconv.ParseFloat(strings.Fields(v)[0], 64)
			return kb / 1024
		}
	}
	return 0
}
