package dbtest

import "syscall"

// freeBytes is the room in a folder, 0 if it is not there.
func freeBytes(path string) uint64 {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(path, &fs); err != nil {
		return 0
	}
	return fs.Bavail * uint64(fs.Bsize)
}
