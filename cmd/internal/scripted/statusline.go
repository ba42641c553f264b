package scripted

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"sync"
	"time"
)

// statusLimit is how long the status line's command may run.
const statusLimit = 2 * time.Second

// statusLine is the newest run of the status line's command. It holds its lock while the output is drawn, so that the
// output of an older run never replaces the output of a newer run.
type statusLine struct {
	mu     sync.Mutex
	run    int
	cancel context.CancelFunc
}

// begin ends the previous run and returns the number of the next one.
func (s *statusLine) begin(cancel context.CancelFunc) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cancel != nil {
		s.cancel()
	}
	s.run++
	s.cancel = cancel
	return s.run
}

// show draws the output of a run, unless a newer run has begun.
func (s *statusLine) show(run int, draw func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.run == run {
		draw()
	}
}

// refreshStatus starts the status line's command, if the settings have one, and returns. If an older run of the command
// has not ended, refreshStatus ends it first. When the command ends, its output is shown.
func (a *Agent) refreshStatus() {
	command := a.settings.StatusLine.Command
	if command == "" {
		return
	}
	ctx, cancel := context.WithTimeout(a.life, statusLimit)
	run := a.statusLine.begin(cancel)
	payload, env := statusPayload(a), hookEnv(a)
	a.wg.Go(func() {
		defer cancel()
		got := a.Run(ctx, Command{Argv: []string{"sh", "-c", command}, Environ: env, Stdin: payload})
		shown := string(got.Stdout)
		if got.Err != nil {
			shown = "" // measured: the output of a command that fails is not shown
		}
		if a.life.Err() == nil {
			a.statusLine.show(run, func() { a.screen.setStatus(shown) })
		}
	})
}

// statusPayload returns the JSON for the command's standard input.
func statusPayload(a *Agent) []byte {
	id, promptID := a.ids()
	all := fields{
		"session_id": id, "transcript_path": transcriptPath(a, id), "cwd": a.Dir, "version": Version,
		"effort":              fields{"level": "medium"},
		"model":               fields{"id": a.opt.model, "display_name": a.opt.model},
		"workspace":           fields{"current_dir": a.Dir, "project_dir": a.Dir, "added_dirs": []string{}},
		"output_style":        fields{"name": "default"},
		"cost":                fields{"total_cost_usd": 0, "total_duration_ms": time.Now().UnixMilli() - a.registry.entry.StartedAt},
		"context_window":      contextUse(a),
		"exceeds_200k_tokens": a.transcript.newest() != nil && a.transcript.newest().context() > 200_000,
		"fast_mode":           false, "thinking": fields{"enabled": true},
	}
	if a.opt.Name != "" {
		all["session_name"] = a.opt.Name
	}
	if promptID != "" {
		all["prompt_id"] = promptID
	}
	text, err := json.Marshal(all)
	if err != nil {
		panic(fmt.Sprintf("payload of the status line: %v", err)) // the payload holds only plain values of this package
	}
	return text
}

// contextUse returns how full the context window is. The tokens of the answer itself do not count.
func contextUse(a *Agent) fields {
	size := contextWindow(a.opt.model)
	last := a.transcript.newest()
	if last == nil {
		return fields{
			"total_input_tokens": 0, "total_output_tokens": 0, "context_window_size": size,
			"current_usage": nil, "used_percentage": nil, "remaining_percentage": nil,
		}
	}
	percent := int(math.Round(float64(last.context()) / float64(size) * 100))
	return fields{
		"total_input_tokens": last.context(), "total_output_tokens": last.Output, "context_window_size": size,
		"current_usage": last, "used_percentage": percent, "remaining_percentage": 100 - percent,
	}
}

// statusRows splits the command's output into rows. Without output there is one blank row.
func statusRows(text string) []string {
	text = escapes().ReplaceAllString(strings.ToValidUTF8(text, "\uFFFD"), "")
	return strings.Split(strings.TrimSpace(text), "\n")
}
