//go:build !linux

package child

import "syscall"

// Tie does nothing, since only Linux can kill a child with its parent. A child whose parent is killed finds its pipes
// closed, and most programs end at their next read or write.
func Tie(*syscall.SysProcAttr) {}
