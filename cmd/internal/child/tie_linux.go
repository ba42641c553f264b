package child

import "syscall"

// Tie has the kernel kill a child when the thread that forks it ends. The caller keeps that thread
// until the child has ended. Processes that the child has started itself are not tied: they find
// their pipes closed.
func Tie(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }
