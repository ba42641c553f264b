package tmux

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
)

// HoldersOfTCP returns the processes that have open the TCP socket with these two addresses, its own and that of its other end, and the hidden
// ones, into which we may not look: those may have it, too. ErrNoProcess means that nobody in our network namespace has it open any
// more, errors.ErrUnsupported that this system does not tell. It looks at the open files of all processes.
func HoldersOfTCP(own, other netip.AddrPort) (holders, hidden []Process, err error) {
	inode, err := inodeOfTCP(own, other)
	if err != nil {
		return nil, nil, err
	}
	all, err := os.ReadDir("/proc")
	if err != nil {
		return nil, nil, err
	}
	for _, entry := range all {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		holds, err := holdsSocket(pid, "socket:["+inode+"]")
		if !holds && !errors.Is(err, fs.ErrPermission) { // It has other files, or has ended.
			continue
		}
		p, err := FindProcess(pid)
		switch {
		case err != nil:
		case holds:
			holders = append(holders, p)
		default:
			hidden = append(hidden, p)
		}
	}
	return holders, hidden, nil
}

// holdsSocket reports whether a process has the socket open, by the name of its link.
func holdsSocket(pid int, link string) (bool, error) {
	folder := "/proc/" + strconv.Itoa(pid) + "/fd"
	dir, err := os.Open(folder)
	if err != nil {
		return false, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	for _, name := range names {
		if to, err := os.Readlink(folder + "/" + name); err == nil && to == link { // It may be closed by now.
			return true, nil
		}
	}
	return false, err
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
