package proc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/cmd/internal/child"
	"github.com/understudyd/understudy/cmd/internal/child/childtest"
	"github.com/understudyd/understudy/cmd/internal/cmdtest"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

// shell is a one-shot that runs a script in dir.
func shell(dir, script string) engine.OneShot {
	return engine.OneShot{Argv: []string{"sh", "-c", script}, Dir: dir, Env: []string{"PATH=" + os.Getenv("PATH"), "WORD=from the environment"}}
}

func TestOneShot(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, tt := range map[string]struct {
		script, stdin  string
		stdout, stderr string
		exit           int
	}{
		"output":             {script: `echo "$WORD"; echo no >&2`, stdout: "from the environment\n", stderr: "no\n"},
		"standard input":     {script: "cat", stdin: strings.Repeat("line\n", 50_000), stdout: strings.Repeat("line\n", 50_000)},
		"input left unread":  {script: "exec <&-; echo done", stdin: strings.Repeat("line\n", 50_000), stdout: "done\n"},
		"an exit code":       {script: "echo partly; exit 7", stdout: "partly\n", exit: 7},
		"ended by a signal":  {script: "kill -TERM $$", exit: 143},
		"the end of stderr":  {script: `i=0; while [ $i -lt 2000 ]; do echo "line $i" >&2; i=$((i+1)); done; echo end >&2`, stderr: "…\nline 1999\nend\n"},
		"a stderr cut in é":  {script: `printf 'é%04095d' 0 >&2`, stderr: strings.Repeat("0", 4095)},
		"a child left over":  {script: "sleep 1000 >/dev/null 2>&1 & echo done", stdout: "done\n"},
		"a child in the way": {script: "sleep 1000 & echo done", stdout: "done\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			job := shell(dir, tt.script)
			job.Stdin = []byte(tt.stdin)
			from := time.Now()
			got, err := OneShot(t.Context(), job)
			if err != nil || string(got.Stdout) != tt.stdout || got.Exit != tt.exit {
				t.Errorf("%.80q, exit code %d, %v", got.Stdout, got.Exit, err)
			}
			if end, cut := strings.CutPrefix(tt.stderr, "…"); !strings.HasSuffix(got.Stderr, end) || !cut && got.Stderr != end || len(got.Stderr) > stderrTail {
				t.Errorf("stderr of %d bytes: %.80q", len(got.Stderr), got.Stderr)
			}
			if took := time.Since(from); took > cmdtest.Eventually {
				t.Errorf("it took %s", took)
			}
		})
	}
}

// TestOneShotNotStarted: what can't be run is an error that names the fix.
func TestOneShotNotStarted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	script := filepath.Join(dir, "no-program")
	must(t, os.WriteFile(script, []byte("plain text"), 0o700))
	for name, tt := range map[string]struct {
		argv []string
		dir  string
		want string
	}{
		"no command":     {nil, dir, "no command"},
		"not in PATH":    {[]string{"no-such-agent-cli"}, dir, "no-such-agent-cli is not in the PATH of serve: name its full path in config.yaml"},
		"no program":     {[]string{script}, dir, "name a program that runs in config.yaml"},
		"no such folder": {[]string{"true"}, dir + "/gone", "the working directory " + dir + "/gone is gone: make it again"},
	} {
		_, err := OneShot(t.Context(), engine.OneShot{Argv: tt.argv, Dir: tt.dir, Env: []string{"PATH=" + os.Getenv("PATH")}})
		wardentest.WantErr(t, name, err, tt.want)
	}
}

func TestOneShotPrintsTooMuch(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	allowed := wardentest.Value(OneShot(t.Context(), shell(dir, fmt.Sprintf("head -c %d /dev/zero", oneShotStdout))))(t)
	equal(t, "bytes, which are allowed", len(allowed.Stdout), oneShotStdout)
	got, err := OneShot(t.Context(), shell(dir, "echo $$ >pid; trap '' PIPE; cat /dev/zero; sleep 1000"))
	if err == nil || !strings.Contains(err.Error(), "printed more than 16 MB") || len(got.Stdout) > 0 {
		t.Errorf("endless output: %d bytes, %v", len(got.Stdout), err)
	}
	childtest.WantGone(t, filepath.Join(dir, "pid"))
}

// TestOneShotCancelled: the command ends at once with all that it has started, whatever they do
// about SIGTERM, and the error is the context's.
func TestOneShotCancelled(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"willing":   childtest.Family + "wait",
		"unwilling": "trap '' TERM; " + childtest.Family + "while :; do wait; done",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, why := t.TempDir(), errors.New("the operator said so")
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			done := make(chan error, 1)
			go func() {
				_, err := OneShot(ctx, shell(dir, script))
				done <- err
			}()
			childtest.AwaitFile(t, filepath.Join(dir, "leader"))
			childtest.AwaitFile(t, filepath.Join(dir, "child"))
			from := time.Now()
			cancel(why)
			wardentest.WantErr(t, "cancelled", <-done, why)
			if took := time.Since(from); took > child.EndGrace+2*time.Second {
				t.Errorf("it took %s", took)
			}
			childtest.WantGone(t, filepath.Join(dir, "leader"), filepath.Join(dir, "child"))
		})
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("before it began")
	cancel(why)
	wardentest.Failed(OneShot(ctx, shell("", "exit 0")))(t, "ended before", why)
}

// TestOneShotDaemonKilled: a daemon that is killed takes its one-shot with it, although the one-shot
// neither reads nor writes. The parent here is this test's own process in another role.
func TestOneShotDaemonKilled(t *testing.T) {
	t.Parallel()
	if dir := os.Getenv("UNDERSTUDY_TEST_ONESHOT"); dir != "" {
		_, err := OneShot(t.Context(), shell(dir, "echo $$ >leader.new; mv leader.new leader; exec sleep 1000"))
		t.Fatal("the one-shot has ended: ", err)
	}
	if runtime.GOOS != "linux" {
		return // see child.Tie
	}
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestOneShotDaemonKilled$")
	cmd.Env = append(os.Environ(), "UNDERSTUDY_TEST_ONESHOT="+dir)
	must(t, cmd.Start())
	childtest.AwaitFile(t, filepath.Join(dir, "leader"))
	if err := cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = cmd.Wait() // killed
	childtest.WantGone(t, filepath.Join(dir, "leader"))
}
