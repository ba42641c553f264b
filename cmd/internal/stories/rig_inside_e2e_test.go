//go:build e2e

package stories

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/understudyd/understudy/cmd/internal/cmdtest"
	"github.com/understudyd/understudy/cmd/internal/serve"
)

// withShells starts agents with a shell as a child, which runs what a test has the agent run; see [runInside]. The rig must not be started yet.
func withShells(r *rig) *rig {
	r.t.Helper()
	agent := filepath.Join(r.t.TempDir(), "agent") // which is asked for its version, too
	script := fmt.Sprintf("#!/bin/sh\nif test -n \"$UNDERSTUDY_AGENT_ID\"; then mkfifo '%[1]s'.$UNDERSTUDY_AGENT_ID; sh '%[1]s'.$UNDERSTUDY_AGENT_ID >/dev/null 2>&1 & fi\nexec '%[2]s' \"$@\"\n",
		filepath.Join(filepath.Dir(r.t.TempDir()), "agent"), cmdtest.AgentProgram(r.t))
	must(r.t, os.WriteFile(agent, []byte(script), 0o700))
	r.cfg.Settings.Runtimes = map[string]serve.RuntimeSettings{"claude": {Command: []string{agent}}}
	return r
}

// startInside has the agent's shell begin a command. The shell goes on with the next one at once.
func startInside(r *rig, agentID int64, command string) {
	r.t.Helper()
	fifo := fmt.Sprintf("%s.%d", filepath.Join(filepath.Dir(r.t.TempDir()), "agent"), agentID)
	var shell *os.File
	r.await("the agent's shell", func() (bool, string) {
		var err error
		shell, err = os.OpenFile(fifo, os.O_WRONLY|syscall.O_NONBLOCK, 0) // ENXIO: it does not read yet
		return err == nil, fmt.Sprint(err)
	})
	r.t.Cleanup(func() { _ = shell.Close() }) // ends the shell
	value(fmt.Fprintf(shell, "%s &\n", command))(r.t)
}

// runInside runs a shell's line in a process of the agent, and returns what it has written and its exit code.
func runInside(r *rig, agentID int64, stdin, line string) (code int, stdout, stderr string) {
	r.t.Helper()
	dir := r.t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	must(r.t, os.WriteFile(file("in"), []byte(stdin), 0o600))
	must(r.t, os.WriteFile(file("line"), []byte(line), 0o600))
	startInside(r, agentID, fmt.Sprintf("( cd '%[1]s'; sh '%[2]s/line' <'%[2]s/in' >'%[2]s/out' 2>'%[2]s/err'; echo $? >'%[2]s/code.new'; mv '%[2]s/code.new' '%[2]s/code' )", r.work, dir))
	r.await("the end of "+line, func() (bool, string) {
		text, err := os.ReadFile(file("code"))
		_, bad := fmt.Sscan(string(text), &code)
		return err == nil && bad == nil, fmt.Sprint(err)
	})
	return code, r.readFile(file("out")), r.readFile(file("err"))
}

// understudyLine is a shell's line that runs the command.
func understudyLine(r *rig, args ...string) string {
	words := []string{cmdtest.MainProgram(r.t)}
	for _, word := range args {
		words = append(words, "'"+word+"'")
	}
	return strings.Join(words, " ")
}
