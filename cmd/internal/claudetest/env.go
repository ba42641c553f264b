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

// Env makes a home in which the CLI starts without log-in, onboarding or trust dialog and knows no server but api. Its
// paths are short, because the CLI makes sockets below TMPDIR. At the end of the test Env removes everything.
func Env(t testing.TB, api *FakeAPI) Home {
	t.Helper()
	root, err := os.MkdirTemp("", "us-cc-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		endProcesses(root)
		os.RemoveAll(root) // it may fail if a process that is just ending still writes; that does no harm
	})
	if root, err = filepath.EvalSymlinks(root); err != nil { // the CLI resolves links in its own paths
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
		"ANTHROPIC_AUTH_TOKEN=dummy", // with an ANTHROPIC_API_KEY the CLI would open a dialog
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
		"CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL=1", // otherwise each start asks GitHub for it, by ssh and git
		"CLAUDE_CODE_MAX_RETRIES=1",                              // an error of the API fails the turn after 1 s, not after 10 tries
		"DISABLE_TELEMETRY=1",
		"DISABLE_ERROR_REPORTING=1",
		"DISABLE_AUTOUPDATER=1",
		"DISABLE_INSTALLATION_CHECKS=1",
		// The CLI is JavaScript. In a session of some seconds its optimising compilers take more time than they save:
		// two starts and seven turns took 9.0 to 10.4 s of CPU with them, and take 7.6 to 8.2 s without (2.1.329).
		"BUN_JSC_useDFGJIT=0",
		// A process that ends soon need not return free memory: the thread that does took 0.1 s of a session.
		"MIMALLOC_PURGE_DELAY=-1",
	}
	return h
}

// standIns makes a directory of programs in place of those that the CLI runs at each start: dpkg (does the CLI come from
// a package?), ps (does an editor run?) and xdg-mime (which opens the CLI's links). The stand-ins answer nothing. No test
// needs the answers, which differ from machine to machine, and the real programs took 0.4 s of CPU a session (2.1.329).
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

// endProcesses kills the processes that still run in the home: the background sessions that the CLI's agents view
// starts, and their supervisor, outlive the pane. It recognises them by CLAUDE_CONFIG_DIR in their environment. Without
// /proc it finds none.
func endProcesses(root string) {
	mine := []byte("\x00CLAUDE_CONFIG_DIR=" + root + string(filepath.Separator))
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range files {
		environ, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(append([]byte{0}, environ...), mine) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file))); err == nil && pid != os.Getpid() {
			_ = syscall.Kill(pid, syscall.SIGKILL) // fails only if the process has ended
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

// Forget removes the CLI's state, as if nobody had ever started the CLI in this home. It must be called before the CLI is
// started.
func (h Home) Forget(t testing.TB) {
	t.Helper()
	if err := os.Remove(filepath.Join(h.ConfigDir, ".claude.json")); err != nil {
		t.Fatal(err)
	}
}
