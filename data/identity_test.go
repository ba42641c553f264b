package data

import (
	"errors"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
)

func TestIdentityIsMadeOnce(t *testing.T) {
	t.Parallel()
	for name, get := range map[string]func(Dir) (string, error){"host id": Dir.HostID, "token": Dir.TokenValue} {
		d := open(t)
		got := make([]string, 32)
		var all sync.WaitGroup
		for i := range got {
			all.Go(func() {
				var err error
				if got[i], err = get(d); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		for _, other := range got {
			if other != got[0] || other == "" {
				t.Fatalf("%s: several came out: %q", name, got)
			}
		}
		equal(t, name+": later", value(get(d))(t), got[0])
		if other, _ := get(open(t)); other == got[0] {
			t.Errorf("%s: two data directories share %q", name, other)
		}
	}
}

func TestIdentityForm(t *testing.T) {
	t.Parallel()
	d := open(t)
	id, err := d.HostID()
	if err != nil || !regexp.MustCompile(`^[a-z0-9][a-z0-9-]*-[0-9a-f]{8}$`).MatchString(id) {
		t.Errorf("host id %q, %v", id, err)
	}
	equal(t, "length of the token", len(value(d.TokenValue())(t)), 64)
	for _, path := range []string{d.HostIDFile(), d.Token()} {
		equal(t, path+" has mode", mode(t, path), fs.FileMode(0o600))
	}
	wantNames(t, d.run(""), "agent", "launch", "token")
}

func TestHostIDIsKeptAsWritten(t *testing.T) {
	t.Parallel()
	d := open(t)
	must(t, os.WriteFile(d.HostIDFile(), []byte("my-host\n"), 0o600))
	equal(t, "host id", value(d.HostID())(t), "my-host")
}

func TestIdentityRefuses(t *testing.T) {
	t.Parallel()
	good := strings.Repeat("a", 64)
	file := func(text string, perm os.FileMode) func(string) error {
		return func(path string) error {
			return errors.Join(os.WriteFile(path, []byte(text), perm), os.Chmod(path, perm))
		}
	}
	link := func(path string) error {
		return errors.Join(os.WriteFile(path+"2", []byte(good), 0o600), os.Symlink(path+"2", path))
	}
	fifo := func(path string) error { return syscall.Mkfifo(path, 0o600) }
	tests := []struct {
		name  string
		token bool
		make  func(path string) error
		want  string
	}{
		{"token for the group", true, file(good, 0o640), "mode 0640"},
		{"token for all", true, file(good, 0o602), "mode 0602"},
		{"empty token", true, file("", 0o600), "64 characters"},
		{"short token", true, file(good[1:], 0o600), "64 characters"},
		{"token by link", true, link, "symbolic link"},
		{"token from a fifo", true, fifo, "not a file of ours"},
		{"empty host id", false, file("", 0o600), "does not hold one"},
		{"host id in capitals", false, file("Host", 0o600), "does not hold one"},
		{"host id with a path", false, file("../x", 0o600), "does not hold one"},
		{"host id of two lines", false, file("a\nb", 0o600), "does not hold one"},
		{"huge host id", false, file(strings.Repeat("a", 5000), 0o600), "not a file of ours"},
		{"host id by link", false, link, "symbolic link"},
		{"host id from a fifo", false, fifo, "not a file of ours"},
	}
	for _, test := range tests {
		d := open(t)
		path, get := d.HostIDFile(), d.HostID
		if test.token {
			path, get = d.Token(), d.TokenValue
		}
		must(t, test.make(path))
		failed(get())(t, test.name, test.want, path)
	}
}

func TestHostLabel(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"Build-7.example.org":    "build-7",
		"":                       "host",
		"...":                    "host",
		"böx":                    "b-x",
		"-_-":                    "host",
		strings.Repeat("ab", 50): strings.Repeat("ab", 20),
	} {
		equal(t, in+" gives", hostLabel(in), want)
	}
}
