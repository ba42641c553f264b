package hooks

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func write(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	must(t, os.WriteFile(path, []byte(text), mode))
	must(t, os.Chmod(path, mode)) // whatever the umask is
}

func wantFile(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil || string(got) != text {
		t.Errorf("%s holds %q, %v; want %q", path, got, err, text)
	}
	if info, err := os.Stat(path); err == nil && info.Mode().Perm() != mode {
		t.Errorf("%s has mode %v, want %v", path, info.Mode().Perm(), mode)
	}
}

func plan(t *testing.T, path string, f func([]byte) (Plan, error)) Plan {
	t.Helper()
	text, err := ReadSettings(path)
	must(t, err)
	p, err := f(text)
	must(t, err)
	return p.For(path, time.Date(2026, 11, 20, 16, 0, 0, 123456789, time.UTC))
}

func install(text []byte) (Plan, error) { return PlanInstall(text, some) }

func TestApply(t *testing.T) {
	t.Parallel()
	const before = "{\n  \"model\": \"opus\"\n}\n"
	path := filepath.Join(t.TempDir(), "settings.json")
	write(t, path, before, 0o640)
	p := plan(t, path, install)
	must(t, Apply(p))
	wantFile(t, path, string(p.After), 0o640)
	wantFile(t, path+".understudy-20261120T160000.123456Z.bak", before, 0o640)
	if err := Apply(plan(t, path, install)); err != nil { // a plan that changes nothing
		t.Error(err)
	}
	if err := Apply(p); err == nil || !strings.Contains(err.Error(), "changed meanwhile") {
		t.Errorf("a plan of yesterday: %v", err)
	}
	out := plan(t, path, PlanUninstall)
	out.Backup += "2"
	must(t, Apply(out))
	wantFile(t, path, before, 0o640)
	wantNames(t, filepath.Dir(path), 3)
}

func wantNames(t *testing.T, dir string, want int) {
	t.Helper()
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != want {
		t.Errorf("%d files in %s, want %d: %v, %v", len(left), dir, want, left, err)
	}
}

// TestApplyToNothing: an uninstall leaves what was there before, no file or an empty one.
func TestApplyToNothing(t *testing.T) {
	t.Parallel()
	for _, there := range []bool{false, true} {
		path := filepath.Join(t.TempDir(), ".claude", "settings.json")
		if there {
			mkdir(t, filepath.Dir(path))
			write(t, path, "", 0o600)
		}
		in := plan(t, path, install)
		if (in.Backup != "") != there {
			t.Errorf("there %t: backup %q", there, in.Backup)
		}
		must(t, Apply(in))
		wantFile(t, path, string(in.After), 0o600)
		out := plan(t, path, PlanUninstall)
		out.Backup += "2"
		must(t, Apply(out))
		if there {
			wantFile(t, path, "", 0o600)
		} else {
			wantGone(t, path)
		}
	}
}

func TestApplyFollowsLinks(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]*string{"to a file": new("{}"), "to nothing": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			mkdir(t, filepath.Join(home, "dotfiles"))
			mkdir(t, filepath.Join(home, "real"))
			target := filepath.Join(home, "dotfiles", "claude.json")
			if before != nil {
				write(t, target, *before, 0o604)
			}
			link(t, "real", filepath.Join(home, ".claude"))
			link(t, "../dotfiles/second.json", filepath.Join(home, "real", "settings.json"))
			link(t, target, filepath.Join(home, "dotfiles", "second.json"))
			path := filepath.Join(home, ".claude", "settings.json")
			p := plan(t, path, install)
			must(t, Apply(p))
			mode := os.FileMode(0o600)
			if before != nil {
				mode = 0o604
				wantFile(t, p.Backup, *before, mode)
			}
			wantFile(t, target, string(p.After), mode)
			if info, err := os.Lstat(path); err != nil || info.Mode()&os.ModeSymlink == 0 {
				t.Errorf("the link is gone: %v, %v", info, err)
			}
			p = plan(t, path, PlanUninstall)
			p.Backup += "2"
			must(t, Apply(p))
			if before != nil {
				wantFile(t, target, *before, mode)
			} else {
				wantGone(t, target)
			}
		})
	}
}

func link(t *testing.T, to, path string) {
	t.Helper()
	must(t, os.Symlink(to, path))
}

func TestApplyRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "settings.json")
	write(t, path, "{}", 0o600)
	p := plan(t, path, install)
	write(t, p.Backup, "precious", 0o600)
	if err := Apply(p); !errors.Is(err, os.ErrExist) {
		t.Errorf("over an older backup: %v", err)
	}
	wantFile(t, path, "{}", 0o600)
	wantFile(t, p.Backup, "precious", 0o600)
	p.Path = ""
	if err := Apply(p); err == nil {
		t.Error("a plan without a path is applied")
	}
	link(t, "loop.json", filepath.Join(dir, "loop.json"))
	if _, err := ReadSettings(filepath.Join(dir, "loop.json")); err == nil {
		t.Error("a link to itself is read")
	}
	if _, err := ReadSettings(dir); err == nil {
		t.Error("a directory is read")
	}
	wantNames(t, dir, 3)
}
