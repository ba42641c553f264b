// Package child starts commands in process groups, so that a command ends together with its own children and with this
// process.
package child

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// EndGrace is the time between SIGTERM and SIGKILL for a command.
const EndGrace = 500 * time.Millisecond

// InGroup makes a command that leads a process group of its own. When ctx ends, the group gets SIGTERM, and EndGrace
// later the leader gets SIGKILL. Then Wait returns; the caller must end the rest of the group. Children that hold the
// command's pipes open delay Wait by EndGrace at most.
func InGroup(ctx context.Context, bin string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, bin, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error {
		SignalGroup(cmd.Process, syscall.SIGTERM)
		return nil
	}
	cmd.WaitDelay = EndGrace
	return cmd
}

// SignalGroup signals all processes of the group that p leads or led. The system does not reuse a group's number while
// the group has a member, so no other process gets the signal.
func SignalGroup(p *os.Process, sig syscall.Signal) {
	_ = syscall.Kill(-p.Pid, sig) // an error means that the group is empty
}

// ExitCode returns a process's exit code as a shell gives it: 128 plus the number of the signal if a signal ended the
// process.
func ExitCode(s *os.ProcessState) int {
	if ws, ok := s.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return s.ExitCode()
}

// Getenv is os.Getenv for the environment environ. As in os.Getenv, the last value of a name counts.
func Getenv(environ []string, name string) string {
	for _, v := range slices.Backward(environ) {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value
		}
	}
	return ""
}

// LookPath finds a program in the PATH of env, the environment that the program will get.
func LookPath(name string, env []string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	for _, dir := range filepath.SplitList(Getenv(env, "PATH")) {
		full := filepath.Join(dir, name)
		if fi, err := os.Stat(full); err == nil && fi.Mode().IsRegular() && fi.Mode()&0o111 != 0 {
			return full, nil
		}
	}
	return "", fmt.Errorf("%s is not in the PATH of serve: name its full path in config.yaml (runtimes: command)", name)
}
