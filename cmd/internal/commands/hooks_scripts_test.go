package commands

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/understudyd/understudy/cmd/internal/cli"
	"github.com/understudyd/understudy/hooks"
	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

// TestHooksScriptsWritesEachScript: Again it changes nothing, and it overwrites nothing that somebody has changed.
func TestHooksScriptsWritesEachScript(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new", "hooks")
	var out bytes.Buffer
	a := &cli.App{Stdout: &out, Stderr: &out, Getenv: func(string) string { return "" }}
	for range 2 {
		must(t, writeScripts(a, dir))
	}
	entries, err := fs.ReadDir(hooks.Scripts, "scripts")
	if err != nil || len(entries) == 0 {
		t.Fatalf("%d scripts: %v", len(entries), err)
	}
	for _, e := range entries {
		want := value(fs.ReadFile(hooks.Scripts, "scripts/"+e.Name()))(t)
		path := filepath.Join(dir, e.Name())
		got, err := os.ReadFile(path)
		fi, _ := os.Stat(path)
		if err != nil || !bytes.Equal(got, want) || fi.Mode().Perm() != 0o755 {
			t.Errorf("%s: %v, mode %v", e.Name(), err, fi)
		}
	}
	own := filepath.Join(dir, entries[0].Name())
	must(t, os.WriteFile(own, []byte("mine"), 0o600))
	wantErr(t, "a script that somebody has changed", writeScripts(a, dir), own+" differs")
	equal(t, "the script that somebody has changed", string(wardentest.Value(os.ReadFile(own))(t)), "mine")
}
