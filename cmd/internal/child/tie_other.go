//go:build !linux

package child

import "syscall"

// Tie does nothing: other kernels than Linux know no such bond. A child whose parent is killed is
// left with closed pipes, at which most programs end when they next read or write.
func Tie(*syscall.SysProcAttr) {}
