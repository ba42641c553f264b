package tmuxtest

import "os/exec"

// Contain makes the command fail to start: macOS has no namespaces.
func Contain(cmd *exec.Cmd) { cmd.Err = exec.ErrNotFound }
