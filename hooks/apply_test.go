package hooks

import (
	"fmt"
	"os"
	"path/filepath"
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
	equal(t, path+" holds", string(value(os.ReadFile(path))(t)), text)
	equal(t, "mode of "+path, value(os.Stat(path))(t).Mode().Perm(), mode)
}

func plan(t *testing.T, path string, f func([]byte) (Plan, error)) Plan {
	t.Helper()
	text := value(ReadSettings(path))(t)
	p := value(f(text))(t)
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
	wantErr(t, "a plan of yesterday", Apply(p), "changed meanwhile")
	out := plan(t, path, PlanUninstall)
	out.Backup += "2"
	must(t, Apply(out))
	wantFile(t, path, before, 0o640)
	wantNames(t, filepath.Dir(path), 3)
}

func wantNames(t *testing.T, dir string, want int) {
	t.Helper()
	left := value(os.ReadDir(dir))(t)
	equal(t, fmt.Sprintf("number of files in %s, with %v", dir, left), len(left), want)
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
		equal(t, "a copy of the file that was there", in.Backup != "", there)
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
	wantErr(t, "over an older backup", Apply(p), os.ErrExist)
	wantFile(t, path, "{}", 0o600)
	wantFile(t, p.Backup, "precious", 0o600)
	p.Path = ""
	wantErr(t, "a plan without a path is applied", Apply(p))
	link(t, "loop.json", filepath.Join(dir, "loop.json"))
	failed(ReadSettings(filepath.Join(dir, "loop.json")))(t, "a link to itself is read")
	failed(ReadSettings(dir))(t, "a directory is read")
	wantNames(t, dir, 3)
}
