package tmux_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/tmux"
)

// TestComforts: the people who attach find options that suit these CLIs, also after a second Start.
func TestComforts(t *testing.T) {
	t.Parallel()
	s := newServer(t, tmux.Config{Socket: filepath.Join(shortDir(t), "s"), Timeout: 30 * time.Second})
	endServer(t, s)
	var options string
	for range 2 {
		must(t, s.Start(t.Context()))
		pane, err := s.Spawn(t.Context(), cat("a"+string(rune('a'+len(options)%26))))
		must(t, err)
		options = command(t, pane.Socket, "show-options", "-s", ";", "show-options", "-g", ";", "show-options", "-gw")
	}
	for _, want := range []string{"escape-time 10", "focus-events on", "extended-keys on", "set-clipboard on", "history-limit 10000"} {
		if !strings.Contains(options, want+"\n") {
			t.Errorf("missing %q", want)
		}
	}
	if strings.Contains(options, "allow-passthrough on") || strings.Count(options, "*kitty*") != 1 {
		t.Errorf("options:\n%s", options)
	}
}

// TestInclude: a user's own file of tmux commands wins over the comforts, and not over what the daemon needs. A mistake in it is told,
// and the server runs.
func TestInclude(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want, never, warned string }{
		"good":    {"set -s escape-time 33\nset -g remain-on-exit off\nset -s exit-empty on\n", "escape-time 33", "remain-on-exit off", ""},
		"mistake": {"set -g no-such-option 1\n", "escape-time 10", "no-such-option", "no-such-option"},
		"missing": {"", "escape-time 10", "", "No such file"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := shortDir(t)
			file := filepath.Join(dir, "my #(touch x).conf")
			if c.text != "" {
				must(t, os.WriteFile(file, []byte(c.text), 0o600))
			}
			var warned []string
			s := newServer(t, tmux.Config{
				Socket: filepath.Join(dir, "s"), Timeout: 30 * time.Second,
				Include: func() string { return file }, Warn: func(err error) { warned = append(warned, err.Error()) },
			})
			endServer(t, s)
			pane, err := s.Spawn(t.Context(), cat("a"))
			must(t, err)
			options := command(t, pane.Socket, "show-options", "-s", ";", "show-options", "-g", ";", "show-options", "-gw")
			if !strings.Contains(options, c.want+"\n") || c.never != "" && strings.Contains(options, c.never) {
				t.Errorf("options:\n%s", options)
			}
			if said := strings.Join(warned, "\n"); (said == "") != (c.warned == "") || !strings.Contains(said, c.warned) {
				t.Errorf("told %q, want %q", said, c.warned)
			}
		})
	}
}
