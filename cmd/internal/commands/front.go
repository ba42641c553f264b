package commands

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/understudyd/understudy/cmd/internal/cli"
)

// runInFront runs a program on this process's terminal until the program ends. When the program suspends itself (Ctrl-b
// Ctrl-z), this process suspends itself too, because otherwise the shell would still wait for this process.
func runInFront(bin string, argv, environ []string) error {
	p, err := os.StartProcess(bin, argv, &os.ProcAttr{Env: environ, Files: []*os.File{os.Stdin, os.Stdout, os.Stderr}})
	if err != nil {
		return fmt.Errorf("%s: %w", bin, err)
	}
	defer func() { _ = p.Release() }() // the loop below waits for the process
	for {
		var status syscall.WaitStatus
		_, err := syscall.Wait4(p.Pid, &status, syscall.WUNTRACED, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return fmt.Errorf("%s: %w", bin, err)
		case status.Stopped():
			if err := syscall.Kill(os.Getpid(), syscall.SIGTSTP); err != nil {
				return fmt.Errorf("%s: %w", bin, err)
			}
		case status.Exited() && status.ExitStatus() == 0:
			return nil
		default: // the program has already printed the reason
			return cli.ErrSilent
		}
	}
}
