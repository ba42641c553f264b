package serve

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTmuxIncludeIsTheUsersOwn: a file of tmux commands can run programs, so nobody else may write it.
func TestTmuxIncludeIsTheUsersOwn(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "tmux.conf")
	must(t, os.WriteFile(file, nil, 0o600))
	check := func(include, want string) {
		t.Helper()
		if why := (&tmuxSettings{include}).problem(); (why == "") != (want == "") || !strings.Contains(why, want) {
			t.Errorf("%q: got %q, want %q", include, why, want)
		}
	}
	check("", "")
	check(file, "")
	check("tmux.conf", "absolute")
	check(file+".not", "no such file")
	check(filepath.Dir(file), "must be a file")
	if err := os.Chmod(file, 0o666); err != nil { //nolint:gosec // the point of the test
		t.Fatal(err)
	}
	check(file, "chmod go-w")
}
