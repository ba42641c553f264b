package service

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/cmd/internal/cli"
	"github.com/understudyd/understudy/cmd/internal/cmdtest"
	"github.com/understudyd/understudy/cmd/internal/proc"
	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

// nasty has what the files of services quote.
const nasty = nastyPath + `/"q"/it's/back\n`

// nastyPath has what the path of a program may have, too.
const nastyPath = `/srv/a b/50%/$HOME/$$/<&>/%h`

var update = flag.Bool("update", false, "write the golden files anew")

func TestServiceFiles(t *testing.T) {
	t.Parallel()
	home := func(name string) string {
		return map[string]string{"HOME": "/home/dev", "XDG_CONFIG_HOME": "relative"}[name]
	}
	env := []string{`LANG=C.UTF-8`, `PATH=` + nasty + `:/usr/bin`}
	for _, c := range []struct {
		goos, golden, path string
		uid                int
	}{
		{"linux", "user.service", "/home/dev/.config/systemd/user/understudy.service", 1000},
		{"linux", "root.service", "/etc/systemd/system/understudy.service", 0},
		{"darwin", "user.plist", "/home/dev/Library/LaunchAgents/io.github.understudyd.understudy.plist", 501},
		{"darwin", "root.plist", "/Library/LaunchDaemons/io.github.understudyd.understudy.plist", 0},
	} {
		t.Run(c.golden, func(t *testing.T) {
			s := wardentest.Value(newService(serviceSpec{goos: c.goos, uid: c.uid, binary: nastyPath + "/understudy", root: nasty + "/data", env: env, asked: []string{"KEY=sesame"}, getenv: home}))(t)
			if strings.Contains(s.content, "sesame") || s.secrets != "KEY=sesame\n" {
				t.Errorf("init shows what --env names: %q", s.secrets)
			}
			if s.path != c.path || !strings.HasPrefix(s.content, s.mark) {
				t.Errorf("path %s, want %s", s.path, c.path)
			}
			golden := filepath.Join("testdata", c.golden)
			if *update {
				must(t, os.MkdirAll(filepath.Dir(golden), 0o755))
				must(t, os.WriteFile(golden, []byte(s.content), 0o644))
			}
			equal(t, golden+" (go test -update writes it anew)", string(wardentest.Value(os.ReadFile(golden))(t)), s.content)
			if c.goos == "darwin" {
				wantStrings(t, s.content, nastyPath+"/understudy", nasty+"/data", nasty+":/usr/bin")
			}
			equal(t, "the data directory is read as", s.rootIn(s.content), nasty+"/data")
			equal(t, "a file without a data directory has", s.rootIn(s.mark), "")
		})
	}
	equal(t, "XDG_CONFIG_HOME", configHome(func(string) string { return "/cfg/" }, "/home/dev"), "/cfg")
}

// wantStrings reads a property list as XML.
func wantStrings(t *testing.T, plist string, want ...string) {
	t.Helper()
	var got []string
	d := xml.NewDecoder(strings.NewReader(plist))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		must(t, err)
		if text, ok := token.(xml.CharData); ok {
			got = append(got, string(text))
		}
	}
	for _, s := range want {
		if !slices.Contains(got, s) {
			t.Errorf("no %q in %q", s, got)
		}
	}
}

func TestServiceRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		spec serviceSpec
		want string
	}{
		{serviceSpec{goos: "linux", uid: 1, root: "/a\nb", getenv: func(string) string { return "/h" }}, "control characters"},
		{serviceSpec{goos: "linux", uid: 1, binary: "/a\xff", getenv: func(string) string { return "/h" }}, "control characters"},
		{serviceSpec{goos: "linux", uid: 1, env: []string{"X=a\rb"}, getenv: func(string) string { return "/h" }}, "control characters"},
		{serviceSpec{goos: "linux", uid: 1, binary: nasty, getenv: func(string) string { return "/h" }}, "quotes or backslashes"},
		{serviceSpec{goos: "linux", uid: 1, getenv: cmdtest.NoEnv}, "HOME is not set"},
		{serviceSpec{goos: "plan9", getenv: cmdtest.NoEnv}, "no service for plan9"},
	} {
		wardentest.Failed(newService(c.spec))(t, fmt.Sprintf("%+v", c.spec), c.want)
	}
}

func TestServiceEnv(t *testing.T) {
	t.Parallel()
	environ := []string{
		"PATH=/usr/bin:relative::/bin", "HOME=/root", "LANG=", "UNDERSTUDY_LISTEN=none", "UNDERSTUDY_DATA=/d", "UNDERSTUDY_LAUNCH=secret",
		"ANTHROPIC_API_KEY=k", "HTTPS_PROXY=http://me:pw@proxy", "http_proxy=http://proxy", "MINE=a=b", "OTHER=x",
	}
	env, named, left, err := serviceEnv(environ, []string{"MINE"})
	must(t, err)
	equal(t, "named", named, []string{"MINE=a=b"})
	equal(t, "passed", env, []string{"PATH=/usr/bin:/bin", "http_proxy=http://proxy"})
	equal(t, "left", left, []string{"ANTHROPIC_API_KEY", "HTTPS_PROXY", "UNDERSTUDY_LISTEN"})
	if _, _, _, err := serviceEnv(environ, []string{"NONE"}); err == nil || !strings.Contains(err.Error(), "--env NONE") {
		t.Errorf("unknown: %v", err)
	}
}

// machine is a home with a systemctl that notes what it is told. It stands for the machine's init, which no
// test may touch.
type machine struct {
	t         *testing.T
	dir, root string
	service   *service
	calls     string // the file that systemctl writes
	dry       bool
}

// fakeInit notes its arguments; the files beside it say what it answers.
const fakeInit = `#!/bin/sh
here=${0%/*}
echo "systemctl $*" >>"$here/calls"
case $* in
*is-active*) test -e "$here/running" ;;
*) test ! -e "$here/broken" || { echo "Failed to connect to bus: No medium found" >&2; exit 1; } ;;
esac
`

func newMachine(t *testing.T) *machine {
	t.Helper()
	m := &machine{t: t, dir: t.TempDir()}
	m.root = filepath.Join(m.dir, "data")
	m.calls = filepath.Join(m.dir, "calls")
	must(t, os.WriteFile(filepath.Join(m.dir, "systemctl"), []byte(fakeInit), 0o755))
	m.describe("/usr/bin")
	return m
}

// describe makes the service anew, with a PATH.
func (m *machine) describe(path string) {
	m.t.Helper()
	var err error
	m.service, err = newService(serviceSpec{
		goos: "linux", uid: 1000, binary: "/opt/understudy", root: m.root, env: []string{"PATH=" + path}, asked: []string{"KEY=sesame"},
		getenv: func(name string) string { return map[string]string{"HOME": m.dir}[name] },
	})
	must(m.t, err)
	m.service.patience = time.Millisecond // a daemon of its own is not there
}

func (m *machine) file(name string, there bool) {
	m.t.Helper()
	path := filepath.Join(m.dir, name)
	err := os.Remove(path)
	if there {
		err = os.WriteFile(path, nil, 0o600)
	}
	must(m.t, err)
}

// says fails unless the dry run of a command names exactly these commands of init.
func (m *machine) says(what func(*serviceRun, context.Context) error, want string) {
	m.t.Helper()
	m.dry = true
	said, told, err := m.does(what)
	m.dry = false
	var got []string
	for line := range strings.Lines(said) {
		if _, command, ok := strings.Cut(line, "  systemctl --user "); ok {
			got = append(got, strings.TrimSpace(command))
		}
	}
	if err != nil || told != "" || strings.Join(got, "; ") != want {
		m.t.Errorf("the dry run says %q, want %q; it told systemctl %q (%v)", strings.Join(got, "; "), want, told, err)
	}
}

// does runs a command and returns what it printed and what systemctl was told, but for questions.
func (m *machine) does(what func(*serviceRun, context.Context) error) (said, told string, err error) {
	m.t.Helper()
	must(m.t, os.WriteFile(m.calls, nil, 0o600))
	var stdout bytes.Buffer
	r := &serviceRun{
		app:     &cli.App{Getenv: cmdtest.NoEnv, DataFlag: m.root, Stdout: &stdout, Stderr: io.Discard},
		service: m.service, environ: []string{"PATH=" + m.dir + ":/usr/bin:/bin"}, dryRun: m.dry,
	}
	err = what(r, m.t.Context())
	calls, readErr := os.ReadFile(m.calls)
	if readErr != nil {
		m.t.Fatal(readErr)
	}
	for line := range strings.Lines(string(calls)) {
		if !strings.Contains(line, "is-active") {
			told += strings.TrimPrefix(strings.TrimSpace(line), "systemctl --user ") + "; "
		}
	}
	return stdout.String(), strings.TrimSuffix(told, "; "), err
}

func installing(r *serviceRun, ctx context.Context) error {
	return r.install(ctx, []string{"UNDERSTUDY_LISTEN"})
}
func uninstalling(r *serviceRun, ctx context.Context) error { return r.uninstall(ctx) }

func (m *machine) wants(what func(*serviceRun, context.Context) error, fails, told string, says ...string) {
	m.t.Helper()
	said, got, err := m.does(what)
	if fails == "" && err != nil || fails != "" && (err == nil || !strings.Contains(err.Error(), fails)) {
		m.t.Errorf("error %v, want %q", err, fails)
	}
	equal(m.t, "systemctl was told", got, told)
	wardentest.Holds(m.t, "it says", said, says...)
}

// TestServiceInstall walks from nothing to a service, through changes of it, and back to nothing.
func TestServiceInstall(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	const silent = "its daemon does not answer: `journalctl --user -u understudy -n 20`"

	m.dry = true
	m.wants(installing, "", "", m.service.path, "KillMode=process", "systemctl --user enable --now understudy.service", "nothing was changed")
	if _, err := os.Stat(m.service.path); err == nil {
		t.Fatal("a dry run wrote the file")
	}
	m.dry = false
	m.wants(uninstalling, "", "", "no service is installed")

	m.wants(installing, silent, "daemon-reload; enable --now understudy.service", "written    "+m.service.path)
	for _, path := range []string{m.service.path, filepath.Join(m.root, "service.env")} {
		equal(t, path, wardentest.Value(os.Stat(path))(t).Mode().Perm(), os.FileMode(0o600))
	}
	m.says(installing, "daemon-reload; enable --now understudy.service")
	m.says(uninstalling, "disable understudy.service; daemon-reload")
	m.wants(installing, silent, "daemon-reload; enable --now understudy.service", "unchanged  ")
	m.file("running", true)
	m.says(installing, "enable understudy.service")
	m.wants(installing, silent, "enable understudy.service", "unchanged  ")
	m.describe("/opt/bin")
	m.says(installing, "daemon-reload; enable understudy.service; restart understudy.service")
	m.wants(installing, silent, "daemon-reload; enable understudy.service; restart understudy.service", "written    ")
	wardentest.Holds(t, "the file", string(wardentest.Value(os.ReadFile(m.service.path))(t)), "PATH=/opt/bin")

	m.says(uninstalling, "disable --now understudy.service; daemon-reload")
	beside := filepath.Join(filepath.Dir(m.service.path), "mine.service")
	must(t, os.WriteFile(beside, nil, 0o600))
	m.wants(uninstalling, "", "disable --now understudy.service; daemon-reload", "removed    ", "its agents go on")
	wardentest.Failed(os.Stat(filepath.Join(m.root, "service.env")))(t, "the variables are still there", os.ErrNotExist)
	equal(t, "files that are left", len(wardentest.Value(os.ReadDir(filepath.Dir(m.service.path)))(t)), 1)
}

// TestServiceForeign: a file that somebody else wrote stays as it is.
func TestServiceForeign(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	must(t, os.MkdirAll(filepath.Dir(m.service.path), 0o755))
	must(t, os.WriteFile(m.service.path, []byte("[Service]\n"+m.service.content), 0o644))
	m.wants(installing, "move it away", "")
	m.wants(uninstalling, "move it away", "")
	if b, err := os.ReadFile(m.service.path); err != nil || !strings.HasPrefix(string(b), "[Service]\n#") {
		t.Errorf("the file holds %.40q (%v)", b, err)
	}
}

// TestServiceOfAnotherDirectory: it is not replaced, and it can be uninstalled from here.
func TestServiceOfAnotherDirectory(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.wants(installing, "does not answer", "daemon-reload; enable --now understudy.service")
	first := m.root
	m.root = filepath.Join(m.dir, "another one")
	m.describe("/usr/bin")
	for _, m.dry = range []bool{true, false} {
		m.wants(installing, "serves "+first+" and not "+m.root+": run `understudy service uninstall --data "+first+"` first", "")
	}
	wardentest.Holds(t, "the file", string(wardentest.Value(os.ReadFile(m.service.path))(t)), first)
	m.wants(uninstalling, "", "disable understudy.service; daemon-reload", "`tmux -S "+first+"/run/tmux.sock")
	m.wants(installing, "does not answer", "daemon-reload; enable --now understudy.service")
}

// TestServiceWithoutFile: the daemon goes on when somebody removes the file, and that is told.
func TestServiceWithoutFile(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.file("running", true)
	const gone = "the service runs although its file is gone: `understudy service install"
	m.wants((*serviceRun).status, "", "", "running         yes", gone)
	m.wants(uninstalling, gone, "")
	m.wants(installing, "does not answer", "daemon-reload; enable understudy.service; restart understudy.service")
	m.wants(uninstalling, "", "disable --now understudy.service; daemon-reload", "removed    ")
}

// TestServiceWithoutInit: the file is written, and stays when its daemon can't be stopped; the error names what
// failed.
func TestServiceWithoutInit(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.file("broken", true)
	m.wants(installing, "`systemctl --user daemon-reload` failed: Failed to connect to bus: No medium found: log in as the user itself", "daemon-reload", "written    ")
	for _, running := range []bool{false, true} {
		command := "disable understudy.service"
		if running {
			m.file("running", true)
			command = "disable --now understudy.service"
		}
		m.wants(uninstalling, "nothing was removed, because the daemon may still run: `systemctl --user "+command+"` failed: Failed to connect to bus: "+
			"No medium found: log in as the user itself", command)
		if _, err := os.Stat(m.service.path); err != nil {
			t.Errorf("the file: %v", err)
		}
	}
	_, _, err := m.does(uninstalling)
	if err == nil || !strings.HasSuffix(err.Error(), "or end the daemon yourself and remove "+m.service.path) {
		t.Errorf("uninstall: %v", err)
	}
	m.file("running", false)
	m.service.active = proc.CommandLine{"no-such-init"}
	m.service.start = []proc.CommandLine{{"no-such-init", "start"}}
	m.wants(installing, "`no-such-init start` failed: there is no no-such-init: ", "")
}
