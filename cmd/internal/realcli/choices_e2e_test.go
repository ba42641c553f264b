//go:build e2e

package realcli

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/understudyd/understudy/cmd/internal/claudetest"
	"github.com/understudyd/understudy/daemon/runtimes"
)

// TestTranscriptShowsModelAndMode: the CLIs that keep their conversation in a file note in it the model that is chosen, as their
// command line takes it, and Codex the mode.
func TestTranscriptShowsModelAndMode(t *testing.T) {
	t.Parallel()
	for cli, want := range map[CLI][2]string{Codex: {"gpt-5.5", "danger-full-access"}, Pi: {"fake/fake-1", ""}} {
		t.Run(string(cli), func(t *testing.T) {
			t.Parallel()
			slots <- struct{}{}
			t.Cleanup(func() { <-slots })
			api := NewFakeAPI(t, claudetest.Says("It is laid."))
			home := Env(t, cli, api)
			s := start(t, cli, api, home)
			s.ready()
			s.submit("lay the bricks")
			s.shows("It is laid.")
			s.ready()
			rt, err := runtimes.For(string(cli))
			if err != nil {
				t.Fatal(err)
			}
			var got [2]string
			err = filepath.WalkDir(filepath.Join(home.ConfigDir, "sessions"), func(path string, e fs.DirEntry, err error) error {
				if err != nil || !strings.HasSuffix(path, ".jsonl") {
					return err
				}
				b, err := os.ReadFile(path)
				for line := range bytes.Lines(b) {
					if e, err := rt.ParseEntry(line); err == nil && e.Model != "" {
						got = [2]string{e.Model, e.Mode}
					}
				}
				return err
			})
			if err != nil || got != want {
				t.Errorf("model and mode %q, %v, want %q", got, err, want)
			}
		})
	}
}
