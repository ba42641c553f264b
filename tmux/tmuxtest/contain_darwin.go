package tmuxtest

import "os/exec"

// Contain has a command not start: there are no namespaces here.
func Contain(cmd *exec.Cmd) { cmd.Err = exec.ErrNotFound }
