package child

import "syscall"

// Tie tells the kernel to kill a child when the thread that forks it ends. The caller locks that thread until the child
// has ended. The child's own children are not tied; they find their pipes closed.
func Tie(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }
