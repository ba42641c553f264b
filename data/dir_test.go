package data

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestDefault(t *testing.T) {
	t.Parallel()
	const user = 1000
	tests := []struct {
		name string
		env  map[string]string
		euid int
		want string
	}{
		{"home", map[string]string{"HOME": "/home/u"}, user, "/home/u/.local/share/understudy/data"},
		{"XDG first", map[string]string{"HOME": "/home/u", "XDG_DATA_HOME": "/x"}, user, "/x/understudy/data"},
		{"XDG without home", map[string]string{"XDG_DATA_HOME": "/x"}, user, "/x/understudy/data"},
		{"relative XDG is ignored", map[string]string{"HOME": "/home/u", "XDG_DATA_HOME": "x"}, user, "/home/u/.local/share/understudy/data"},
		{"root", map[string]string{"HOME": "/root", "XDG_DATA_HOME": "/x"}, 0, "/var/lib/understudy/data"},
		{"root without home", nil, 0, "/var/lib/understudy/data"},
		{"user without home", nil, user, ""},
		{"relative home", map[string]string{"HOME": "."}, user, ""},
	}
	for _, test := range tests {
		got, err := Default(func(key string) string { return test.env[key] }, test.euid)
		equal(t, test.name, got, test.want)
		if test.want == "" && (err == nil || !strings.Contains(err.Error(), "--data")) {
			t.Errorf("%s: error %v does not name --data", test.name, err)
		}
	}
}

func TestPaths(t *testing.T) {
	t.Parallel()
	d := Dir{root: "/d"}
	for want, got := range map[string]string{
		"/d":                             d.Root(),
		"/d/personas":                    d.Personas(),
		"/d/personas/dev-con-1":          d.Persona("dev-con-1"),
		"/d/personas/dev-con-1/handoffs": d.Handoffs("dev-con-1"),
		"/d/pipelines":                   d.Pipelines(),
		"/d/config.yaml":                 d.Config(),
		"/d/requirements.yaml":           d.Requirements(),
		"/d/spool":                       d.Spool(),
		"/d/postgres":                    d.Postgres(),
		"/d/host_id":                     d.HostIDFile(),
		"/d/run/understudy.sock":         d.Socket(),
		"/d/run/hook.sock":               d.HookSocket(),
		"/d/run/token":                   d.Token(),
		"/d/run/tmux.sock":               d.TmuxSocket(),
		"/d/run/lock":                    d.Lock(),
		"/d/run/launch/42":               d.Launch(42),
	} {
		equal(t, "got", got, want)
	}
	for _, slug := range []string{"", ".", "..", "../x", "a/b", "/etc", `a\b`, "a\x00", ".archive", "../../etc"} {
		equal(t, "slug "+slug+" leads to", d.Handoffs(slug), "/d/personas/.invalid/handoffs")
	}
}

func mode(t *testing.T, path string) fs.FileMode {
	t.Helper()
	info := value(os.Lstat(path))(t)
	return info.Mode()
}

// open makes a data directory in a folder of its own.
func open(t *testing.T) Dir {
	t.Helper()
	return value(Open(filepath.Join(t.TempDir(), "data")))(t)
}

func TestOpenMakesLayout(t *testing.T) {
	t.Parallel()
	base := filepath.Join(t.TempDir(), "a", "b")
	root := filepath.Join(base, "data")
	for range 2 { // the second time the layout exists already
		d := value(Open(root + "/./"))(t)
		equal(t, "root is", d.Root(), root)
	}
	self, parents := fs.FileMode(0o700), fs.FileMode(0o700)
	if os.Geteuid() == 0 {
		self, parents = 0o711, 0o755
	}
	equal(t, "root has mode", mode(t, root).Perm(), self)
	equal(t, "parent has mode", mode(t, base).Perm(), parents)
	for _, name := range folders {
		equal(t, name+" has mode", mode(t, filepath.Join(root, name)), fs.ModeDir|0o700)
	}
}

func TestOpenKeepsAndTightens(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	must(t, os.Chmod(root, 0o700))
	run := filepath.Join(root, "run")
	must(t, os.Mkdir(run, 0o755))
	lock := filepath.Join(run, "lock")
	must(t, os.WriteFile(lock, []byte("x"), 0o600))
	value(Open(root))(t)
	equal(t, "run has mode", mode(t, run).Perm(), fs.FileMode(0o700))
	equal(t, "others may pass through the root folder", mode(t, root).Perm()&0o011 == 0o011, os.Geteuid() == 0)
	wantText(t, lock, "x")
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		make func(root string) error
		want string
	}{
		{"root is a link", func(root string) error { return os.Symlink("/tmp", root) }, "symbolic link"},
		{"root is a dangling link", func(root string) error { return os.Symlink("/nowhere/at/all", root) }, "symbolic link"},
		{"root is a file", func(root string) error { return os.WriteFile(root, nil, 0o600) }, "not a folder"},
		{"root is for the group", func(root string) error { return mkdir(root, 0o770) }, "chmod go-w"},
		{"root is for all", func(root string) error { return mkdir(root, 0o702) }, "chmod go-w"},
		{"a folder above is for all", func(root string) error {
			return errors.Join(mkdir(root, 0o700), os.Chmod(filepath.Dir(root), 0o777))
		}, "/p may be written by others (mode 0777)"},
		{"run leads elsewhere", func(root string) error {
			return errors.Join(mkdir(root, 0o700), os.Symlink("/tmp", filepath.Join(root, "run")))
		}, "symbolic link"},
		{"the lock leads elsewhere", func(root string) error {
			return errors.Join(os.MkdirAll(filepath.Join(root, "run"), 0o700), os.Symlink("/etc/passwd", filepath.Join(root, "run", "lock")))
		}, "run/lock is a symbolic link"},
		{"postgres leads elsewhere", func(root string) error {
			return errors.Join(mkdir(root, 0o700), os.Symlink("/tmp", filepath.Join(root, "postgres")))
		}, "postgres is a symbolic link"},
		{"run is for the group", func(root string) error {
			return errors.Join(mkdir(root, 0o700), mkdir(filepath.Join(root, "run"), 0o770))
		}, "chmod go-w"},
		{"spool is a fifo", func(root string) error {
			return errors.Join(mkdir(root, 0o700), syscall.Mkfifo(filepath.Join(root, "spool"), 0o600))
		}, "not a folder"},
		{"parent is a file", func(root string) error {
			parent := filepath.Dir(root)
			return errors.Join(os.Remove(parent), os.WriteFile(parent, nil, 0o600))
		}, "--data"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			root := filepath.Join(t.TempDir(), "p", "data")
			must(t, errors.Join(os.Mkdir(filepath.Dir(root), 0o700), test.make(root)))
			_, err := Open(root)
			wantErr(t, test.name, err, test.want)
		})
	}
	t.Run("other owner", func(t *testing.T) {
		t.Parallel()
		info := value(os.Lstat(t.TempDir()))(t)
		wantErr(t, "the folder of another user", check("/d", info, os.Geteuid()+1), "belongs to user")
	})
	t.Run("no name", func(t *testing.T) {
		t.Parallel()
		failed(Open(""))(t, "no folder", "--data")
	})
}
