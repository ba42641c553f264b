//go:build e2e

package stories

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"testing"

	"github.com/creack/pty"

	"github.com/understudyd/understudy/cmd/internal/cmdtest"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/agents"
)

// typist is a person at an interactive shell, on a terminal of its own.
type typist struct {
	cmdtest.Printed
	r        *rig
	keyboard *os.File
}

// control matches the sequences that tell a terminal how to draw.
var control = regexp.MustCompile(`\x1b(\[[0-9;?=>]*[a-zA-Z]|[=>]|\][^\a]*\a)|[\r\a]`)

func (s *typist) awaitShownOnTerminal(pattern string) {
	s.r.t.Helper()
	re := regexp.MustCompile(pattern)
	s.r.await(pattern, func() (bool, string) {
		shown := control.ReplaceAllString(s.String(), "")
		return re.MatchString(shown), shown
	})
}

func (s *typist) typeKeys(keys string) {
	s.r.t.Helper()
	value(s.keyboard.WriteString(keys))(s.r.t)
}

// shellEnv is an environment with understudy in PATH, for the rig's data directory.
func shellEnv(r *rig) []string {
	r.t.Helper()
	bin := filepath.Join(filepath.Dir(r.root), "bin")
	must(r.t, os.MkdirAll(bin, 0o700))
	must(r.t, os.Symlink(cmdtest.MainProgram(r.t), filepath.Join(bin, "understudy")))
	return append(slices.Clone(r.cfg.Environ), "PATH="+bin+":"+os.Getenv("PATH"), "UNDERSTUDY_DATA="+r.root, "TERM=xterm", "LANG=C.UTF-8", "PS1=ready> ")
}

// startShell starts a shell and types its configuration.
func startShell(t *testing.T, r *rig, env []string, config string, argv ...string) *typist {
	t.Helper()
	s := &typist{r: r}
	c := exec.Command(argv[0], argv[1:]...)
	c.Env, c.Dir = env, r.work
	var err error
	if s.keyboard, err = pty.StartWithSize(c, &pty.Winsize{Rows: 50, Cols: 120}); err != nil {
		t.Fatalf("%v (install it: apt-get install %s)", err, argv[0])
	}
	var read sync.WaitGroup
	read.Go(func() { _, _ = io.Copy(s, s.keyboard) })
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
		_ = s.keyboard.Close()
		read.Wait()
	})
	s.awaitShownOnTerminal("ready> ")
	s.typeKeys(config + " && echo con''figured\n")
	s.awaitShownOnTerminal(`(?s)configured\s.*ready> `)
	return s
}

// completion is something to complete: an agent with a persona, and one with a hostile name.
type completion struct {
	r       *rig
	env     []string
	hostile daemon.Agent
}

func newCompletion(t *testing.T) completion {
	t.Helper()
	r := newRig(t).start()
	r.startAgent(con)
	hostile := r.createAgent(agents.NewAgent{Cwd: r.work, Name: "$(touch ran) `touch ran`; touch ran"})
	return completion{r, shellEnv(r), hostile}
}

// completeIn has an interactive shell complete by its own means.
func (c completion) completeIn(t *testing.T, config string, argv ...string) {
	t.Helper()
	s := startShell(t, c.r, c.env, config, argv...)
	s.typeKeys("understudy agent show \t\t")
	s.awaitShownOnTerminal(fmt.Sprintf(`%d +(--|\() ?\$\(touch ran\) .touch ran.; touch ran, `, c.hostile.ID))
	s.awaitShownOnTerminal(`1 +(--|\() ?developer-con-1, idle`)
	s.typeKeys("\x15understudy agent list --state=wor\t--json && echo \"it has ended: $?\"\n")
	s.awaitShownOnTerminal(`it has ended: 0`)
	s.typeKeys("\x15understudy persona show rev\t\n")
	s.awaitShownOnTerminal(`persona +reviewer-ada-1\n`)
}

// TestShellsCompleteIdsAndSlugs has each shell complete ids and a slug. The hostile agent's name is text that a shell would run.
func TestShellsCompleteIdsAndSlugs(t *testing.T) {
	t.Parallel()
	c := newCompletion(t)
	c.completeIn(t, "source <(understudy completion bash)", "bash", "--norc", "--noprofile", "-i")
	c.completeIn(t, "autoload -U compinit && compinit -u -D && source <(understudy completion zsh)", "zsh", "-f", "-i")
	fish := exec.Command("fish", "--no-config", "-c", `understudy completion fish | source
		complete -C "understudy agent show "; complete -C "understudy persona show rev"; complete -C "understudy handoff dev"`)
	fish.Env, fish.Dir = append(c.env, "XDG_CONFIG_HOME="+c.r.work, "XDG_DATA_HOME="+c.r.work), c.r.work
	out, err := fish.CombinedOutput()
	if err != nil {
		t.Fatalf("%v (install it: apt-get install fish): %s", err, out)
	}
	for _, want := range []string{fmt.Sprintf("%d\t$(touch ran) `touch ran`; touch ran, ", c.hostile.ID), "1\tdeveloper-con-1, idle\n", "reviewer-ada-1\t", "developer-con-1\tagent 1, idle\n"} {
		holds(t, "what is offered", string(out), want)
	}
	wantNoFile(t, filepath.Join(c.r.work, "ran"))
}
