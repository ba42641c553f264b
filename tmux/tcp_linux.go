package tmux

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// HoldersOfTCP returns the processes that have open the TCP socket with these two addresses, its own and that of its other end: none if we may
// not look into them. ErrNoProcess means that nobody in our network namespace has it open any more,
// errors.ErrUnsupported that this system does not tell. It looks at the open files of all processes.
func HoldersOfTCP(own, other netip.AddrPort) ([]Process, error) {
	inode, err := inodeOfTCP(own, other)
	if err != nil {
		return nil, err
	}
	links, err := filepath.Glob("/proc/[0-9]*/fd/[0-9]*")
	if err != nil {
		return nil, err
	}
	var holders []Process
	for _, link := range links {
		if to, err := os.Readlink(link); err != nil || to != "socket:["+inode+"]" { // It may be closed by now.
			continue
		}
		pid, err := strconv.Atoi(strings.Split(link, "/")[2])
		if err != nil {
			return nil, err
		}
		if p, err := FindProcess(pid); err == nil && !slices.Contains(holders, p) {
			holders = append(holders, p)
		}
	}
	return holders, nil
}

// inodeOfTCP finds the socket in the kernel's tables, see proc_pid_net(5). A socket that nobody has open any more has the inode 0 there.
func inodeOfTCP(own, other netip.AddrPort) (string, error) {
	for _, file := range []string{"/proc/self/net/tcp", "/proc/self/net/tcp6"} {
		table, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) { // This kernel has no IPv6.
			continue
		}
		if err != nil {
			return "", err
		}
		for line := range strings.Lines(string(table)) {
			fields := strings.Fields(line)
			const local, remote, inode = 1, 2, 9
			if len(fields) <= inode || fields[0] == "sl" {
				continue
			}
			from, err := kernelAddress(fields[local])
			if err != nil {
				return "", err
			}
			to, err := kernelAddress(fields[remote])
			if err != nil {
				return "", err
			}
			if from == own && to == other && fields[inode] != "0" {
				return fields[inode], nil
			}
		}
	}
	return "", fmt.Errorf("socket %s to %s: %w", own, other, ErrNoProcess)
}

// kernelAddress reads an address as the kernel writes it: groups of four bytes, each in the machine's order, then the port.
func kernelAddress(text string) (netip.AddrPort, error) {
	host, port, _ := strings.Cut(text, ":")
	raw, err := hex.DecodeString(host)
	if err != nil || len(raw)%4 != 0 {
		return netip.AddrPort{}, fmt.Errorf("address %q of the kernel", text)
	}
	for group := range slices.Chunk(raw, 4) {
		slices.Reverse(group)
	}
	addr, ok := netip.AddrFromSlice(raw)
	n, err := strconv.ParseUint(port, 16, 16)
	if !ok || err != nil {
		return netip.AddrPort{}, fmt.Errorf("address %q of the kernel", text)
	}
	return netip.AddrPortFrom(addr.Unmap(), uint16(n)), nil
}
