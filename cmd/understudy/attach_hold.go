package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/understudyd/understudy/daemon"
)

// sizeHold keeps a pane's size while somebody is attached. Windows of our own server have a fixed size. In
// a person's server tmux lets a client that ignores sizes set one all the same when it is the only one, so
// that the window's size is fixed for as long, and is the person's again when the last such client leaves.
type sizeHold struct{ socket, pane string }

func holdOn(g daemon.Agent) *sizeHold { return &sizeHold{socket: g.PaneSocket, pane: *g.Pane} }

// heldOption of a window tells that its size is held, and after a colon what its window-size was: nothing
// where it had none of its own.
const heldOption = "@understudy-size"

// hold fixes the size, unless it is. Held says that release must be called.
func (h *sizeHold) hold(ctx context.Context) (held bool, err error) {
	before, err := h.tmux(ctx, "show-options", "-wqv", "-t", h.pane, heldOption)
	if err != nil || before != "" { // by another one who is attached
		return before != "", err
	}
	size, err := h.tmux(ctx, "show-options", "-wqv", "-t", h.pane, "window-size")
	if err != nil || size == "manual" {
		return false, err
	}
	_, err = h.tmux(ctx, "set-option", "-w", "-t", h.pane, heldOption, "was:"+size, ";",
		"set-option", "-w", "-t", h.pane, "window-size", "manual")
	return err == nil, err
}

// release gives the size back, if nobody is attached any more for whom it was held. That the pane or its
// server is gone is no error: so is the option.
func (h *sizeHold) release(ctx context.Context) error {
	flags, err := h.tmux(ctx, "list-clients", "-t", h.pane, "-F", "#{client_flags}")
	if err != nil || strings.Contains(flags, "ignore-size") {
		return nil
	}
	before, err := h.tmux(ctx, "show-options", "-wqv", "-t", h.pane, heldOption)
	size, ours := strings.CutPrefix(before, "was:")
	if err != nil || !ours {
		return nil
	}
	back := []string{"set-option", "-w", "-t", h.pane, "window-size", size}
	if size == "" {
		back = []string{"set-option", "-wu", "-t", h.pane, "window-size"}
	}
	_, err = h.tmux(ctx, append(back, ";", "set-option", "-wu", "-t", h.pane, heldOption)...)
	return err
}

// tmux runs a command on the pane's server and returns what it prints. None is started.
func (h *sizeHold) tmux(ctx context.Context, args ...string) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, 5*time.Second, errors.New("tmux does not answer"))
	defer cancel()
	cmd := exec.CommandContext(ctx, "tmux", append([]string{"-N", "-u", "-S", h.socket}, args...)...)
	cmd.Env = attachEnv(os.Environ())
	out, err := cmd.Output()
	switch exit := (*exec.ExitError)(nil); {
	case err == nil:
		return strings.TrimSpace(string(out)), nil
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case errors.As(err, &exit) && len(exit.Stderr) > 0:
		err = errors.New(printable(strings.TrimSpace(string(exit.Stderr))))
	}
	return "", fmt.Errorf("tmux server of pane %s: %w", h.pane, err)
}

// runInFront runs a program in this one's place on the terminal, until it ends. Where it has itself stopped
// (Ctrl-b Ctrl-z), this program stops as well, or the shell would wait for it.
func runInFront(bin string, argv, environ []string) error {
	p, err := os.StartProcess(bin, argv, &os.ProcAttr{Env: environ, Files: []*os.File{os.Stdin, os.Stdout, os.Stderr}})
	if err != nil {
		return fmt.Errorf("%s: %w", bin, err)
	}
	defer func() { _ = p.Release() }() // it has been waited for
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
		default: // it has said why
			return errSilent
		}
	}
}
