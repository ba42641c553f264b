package claudetest

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
)

// Home is a private place for one or more sessions of the CLI.
type Home struct {
	Dir       string   // HOME
	ConfigDir string   // CLAUDE_CONFIG_DIR: transcripts, session registry
	Workdir   string   // a trusted working directory
	TempDir   string   // TMPDIR
	Environ   []string // the whole environment of the CLI, for exec
}

// Env makes a home in which the CLI starts without log-in, onboarding or trust dialog and knows
// no server but api. Its paths are short, because the CLI makes sockets below TMPDIR. Everything
// is removed when the test ends.
func Env(t testing.TB, api *FakeAPI) Home {
	t.Helper()
	root, err := os.MkdirTemp("", "us-cc-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		endProcesses(root)
		os.RemoveAll(root) // what a process that is just ending still writes does not matter
	})
	if root, err = filepath.EvalSymlinks(root); err != nil { // the CLI knows itself by real paths
		t.Fatal(err)
	}
	h := Home{
		Dir:       filepath.Join(root, "home"),
		ConfigDir: filepath.Join(root, "home", ".claude"),
		Workdir:   filepath.Join(root, "work"),
		TempDir:   filepath.Join(root, "tmp"),
	}
	for _, dir := range []string{h.ConfigDir, h.Workdir, h.TempDir} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	h.Trust(t, h.Workdir)
	h.Environ = []string{
		"PATH=" + standIns(t, root) + string(filepath.ListSeparator) + os.Getenv("PATH"),
		"LANG=C.UTF-8",
		"TERM=tmux-256color",
		"SHELL=/bin/sh",
		"HOME=" + h.Dir,
		"CLAUDE_CONFIG_DIR=" + h.ConfigDir,
		"TMPDIR=" + h.TempDir,
		"ANTHROPIC_BASE_URL=" + api.URL,
		"ANTHROPIC_AUTH_TOKEN=dummy", // an ANTHROPIC_API_KEY would bring a dialog
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
		"CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL=1", // else each start asks GitHub for it, by ssh and git
		"CLAUDE_CODE_MAX_RETRIES=1",                              // a failing API is a failing turn after 1 s, not after 10 tries
		"DISABLE_TELEMETRY=1",
		"DISABLE_ERROR_REPORTING=1",
		"DISABLE_AUTOUPDATER=1",
		"DISABLE_INSTALLATION_CHECKS=1",
		// The CLI is JavaScript, and what its optimising compilers take a session of seconds does not win back: two
		// starts and seven turns took 9.0 to 10.4 s of CPU, and take 7.6 to 8.2 s (2.1.329).
		"BUN_JSC_useDFGJIT=0",
		// Memory that is free stays with a process that ends soon: the thread that gives it back took a session 0.1 s.
		"MIMALLOC_PURGE_DELAY=-1",
	}
	return h
}

// standIns makes a directory of programs that the CLI asks about the machine at each start, and has them know nothing:
// dpkg whether the CLI is of a package, ps whether an editor runs, xdg-mime to open the CLI's links. No test looks at the
// answers, which differ from machine to machine, and they took a session 0.4 s of CPU (2.1.329).
func standIns(t testing.TB, root string) string {
	t.Helper()
	nothing, err := exec.LookPath("false")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(root, "bin")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"dpkg", "ps", "xdg-mime"} {
		if err := os.Symlink(nothing, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// endProcesses kills what still runs in the home: background sessions and their supervisor, which
// the CLI's agents view starts, outlive the pane. A process belongs to the home if its
// environment says so. Without /proc nothing is found.
func endProcesses(root string) {
	mine := []byte("\x00CLAUDE_CONFIG_DIR=" + root + string(filepath.Separator))
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range files {
		environ, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(append([]byte{0}, environ...), mine) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file))); err == nil && pid != os.Getpid() {
			_ = syscall.Kill(pid, syscall.SIGKILL) // the only error is that it is gone
		}
	}
}

// Trust sets the directories in which the CLI starts without its trust dialog; a directory below
// one of them counts as well. It must be called before the CLI is started.
func (h Home) Trust(t testing.TB, dirs ...string) {
	t.Helper()
	projects := map[string]any{}
	for _, dir := range dirs {
		projects[dir] = map[string]any{"hasTrustDialogAccepted": true}
	}
	content, err := json.Marshal(map[string]any{"hasCompletedOnboarding": true, "projects": projects})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(h.ConfigDir, ".claude.json"), content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// Forget makes the home that of a person who has never started the CLI. It must be called before the CLI
// is started.
func (h Home) Forget(t testing.TB) {
	t.Helper()
	if err := os.Remove(filepath.Join(h.ConfigDir, ".claude.json")); err != nil {
		t.Fatal(err)
	}
}
