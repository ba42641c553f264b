package npmtest

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

func TestMain(m *testing.M) { os.Exit(wardentest.Run(m.Run)) }

func TestCacheDir(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	env := func(v string) func(string) string { return func(string) string { return v } }
	user := func() (string, error) { return filepath.Join(dir, "user"), nil }
	for _, tt := range []struct{ variable, want string }{
		{filepath.Join(dir, "own"), filepath.Join(dir, "own")},
		{"", filepath.Join(dir, "user", "understudy")},
	} {
		got := wardentest.Value(cacheDir(env(tt.variable), user))(t)
		wardentest.Equal(t, tt.variable, got, tt.want)
		wardentest.Equal(t, got, wardentest.Value(os.Stat(got))(t).Mode().Perm(), os.FileMode(0o700))
	}
	got, err := cacheDir(env(""), func() (string, error) { return "", errors.New("no HOME") })
	if err != nil || !strings.HasPrefix(got, os.TempDir()) {
		t.Errorf("without HOME: %q, %v", got, err)
	}
	wardentest.Failed(cacheDir(env("/dev/null/x"), user))(t, "unusable", "UNDERSTUDY_CACHE")
}

func TestPlatform(t *testing.T) {
	t.Parallel()
	for in, want := range map[[2]string]string{
		{"linux", "amd64"}: "linux-x64", {"linux", "arm64"}: "linux-arm64", {"darwin", "arm64"}: "darwin-arm64",
		{"windows", "amd64"}: "", {"linux", "riscv64"}: "",
	} {
		system, arch, err := platform(in[0], in[1])
		got := strings.Trim(system+"-"+arch, "-")
		if got != want || (err == nil) == (want == "") {
			t.Errorf("%v: %q, %v", in, got, err)
		}
	}
}
