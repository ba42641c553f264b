package proc

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// TestProbeAsksOnce: a version is one line, it is asked once for each program, and again when the program has changed.
func TestProbeAsksOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cli, asked := filepath.Join(dir, "cli"), filepath.Join(dir, "asked")
	write := func(says string) {
		t.Helper()
		must(t, os.WriteFile(cli, []byte("#!/bin/sh\necho x >>'"+asked+"'\nprintf '"+says+"'\n"), 0o755))
		must(t, os.Chtimes(cli, time.Time{}, time.Unix(int64(len(says)), 0)))
	}
	p := NewProbe(os.Environ())
	for i, c := range []struct{ says, want string }{
		{"1.2.3 (CLI)\\n", "1.2.3 (CLI)"}, {"Warning: old node\\n\\ncli 1.2.4\\nUpdate available\\n", "cli 1.2.4"}, {"dev\\nbuild\\n", "dev"},
	} {
		write(c.says)
		for range 3 {
			equal(t, "version", p.Version(t.Context(), []string{cli}), c.want)
		}
		if b, _ := os.ReadFile(asked); len(b) != 2*(i+1) {
			t.Errorf("after %d programs it was asked %s times", i+1, strconv.Itoa(len(b)/2))
		}
	}
}
