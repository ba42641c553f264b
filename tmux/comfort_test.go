package tmux_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/tmux"
)

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
			pane := made(t, s, cat("a"))
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
