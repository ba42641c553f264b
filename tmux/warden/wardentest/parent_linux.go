package wardentest

import (
	"fmt"
	"os"
	"strings"
	"syscall"
)

// endWithParent has the kernel end this process when the go command that runs it ends. Else tests would go on for
// minutes after a SIGKILL of `go test`, with nobody to report to.
func endWithParent() {
	name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", os.Getppid()))
	if strings.TrimSpace(string(name)) == "go" {
		_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, syscall.PR_SET_PDEATHSIG, uintptr(syscall.SIGKILL), 0)
	}
}
