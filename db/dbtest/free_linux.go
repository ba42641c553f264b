package dbtest

import "syscall"

// freeBytes returns the free space of a folder, 0 if the folder does not exist.
func freeBytes(path string) uint64 {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(path, &fs); err != nil {
		return 0
	}
	return fs.Bavail * uint64(fs.Bsize)
}
