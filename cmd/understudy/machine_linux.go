package main

import (
	"os"
	"strings"
)

// bootID is another one after each boot of the machine.
func bootID() string {
	b, _ := os.ReadFile("/proc/sys/kernel/random/boot_id") // without one the boot is not known
	return strings.TrimSpace(string(b))
}
