// Package trust decides whether a file may be obeyed that says what this program runs: nobody but this user and root may be able to
// change it. All rooms that read such a file ask here, so that there is one rule. The package is stateless. Who changes a mode between
// the look and the read was trusted at the look.
package trust

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// maxLinks is the kernel's own limit of symbolic links on one path.
const maxLinks = 40

// Check returns why a file must not be obeyed, with the command that mends it; nil: it may. It follows symbolic links, and looks at
// the file, at each link and at each folder on the way. A folder like /tmp, in which only a file's owner may rename it, is fine. A
// file that is not there is fine if nobody else could make it.
func Check(path string) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	at, rest, links := "/", strings.Split(strings.TrimPrefix(path, "/"), "/"), 0
	for {
		info, err := os.Lstat(at)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			if err := owned(at, info); err != nil {
				return err
			}
			to, err := os.Readlink(at)
			if err != nil {
				return err
			}
			if links++; links > maxLinks {
				return fmt.Errorf("%s: too many symbolic links", path)
			}
			if !filepath.IsAbs(to) {
				to = filepath.Join(filepath.Dir(at), to)
			}
			at, rest = "/", append(strings.Split(strings.TrimPrefix(filepath.Clean(to), "/"), "/"), rest...)
			continue
		}
		if err := CheckInfo(at, info); err != nil {
			return err
		}
		for len(rest) > 0 && (rest[0] == "" || rest[0] == ".") {
			rest = rest[1:]
		}
		if len(rest) == 0 {
			return nil
		}
		at, rest = filepath.Join(at, rest[0]), rest[1:]
	}
}

// Private returns why others may read a file that holds a secret, with the command that mends it; nil: they may not. The folders above do not
// count: they keep others out only for as long as nobody opens them.
func Private(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if mode := info.Mode().Perm(); mode&0o004 != 0 || mode&0o040 != 0 && !privateGroup(gid(info)) {
		return fmt.Errorf("%s may be read by others (mode %04o): run chmod go-r %s", path, mode, quote(path))
	}
	return nil
}

// CheckInfo is [Check] for one file or folder, without what is above it. path names it for people.
func CheckInfo(path string, info fs.FileInfo) error {
	if err := owned(path, info); err != nil {
		return err
	}
	mode := info.Mode()
	if mode.IsDir() && mode&fs.ModeSticky != 0 {
		return nil // what is in it is judged by its owner
	}
	if mode.Perm()&0o002 != 0 || mode.Perm()&0o020 != 0 && !privateGroup(gid(info)) {
		return fmt.Errorf("%s may be written by others (mode %04o), who could so run programs as this user: run chmod go-w %s", path, mode.Perm(), quote(path))
	}
	return nil
}

func owned(path string, info fs.FileInfo) error {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if uid := os.Geteuid(); ok && int(stat.Uid) != uid && stat.Uid != 0 && !unmapped(stat.Uid) {
		return fmt.Errorf("%s belongs to user %d, who could so run programs as this user (%d): change its owner, run chown %d %s", path, stat.Uid, uid, uid, quote(path))
	}
	return nil
}

func gid(info fs.FileInfo) uint32 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return stat.Gid
	}
	return 0
}

// overflow is how Linux shows the owner of a file who does not exist in this user namespace.
const overflow = 65534

// unmapped reports whether a user does not exist in this user namespace. Such files belong to whoever made the container: nobody in
// it can become that user.
func unmapped(uid uint32) bool { return uid == overflow && inUserNamespace() }

var inUserNamespace = sync.OnceValue(func() bool {
	b, err := os.ReadFile("/proc/self/uid_map")
	fields := strings.Fields(string(b))
	return err == nil && !(len(fields) == 3 && fields[0] == "0" && fields[2] == "4294967295")
})

// privateGroup reports whether a group is this user's alone: it has the user's name and no other members. With the umask of many
// systems (002) all that a user makes may be written by that group.
func privateGroup(gid uint32) bool {
	private, _ := privateGroups.LoadOrStore(gid, sync.OnceValue(func() bool { return readPrivateGroup(groupFile, gid) }))
	return private.(func() bool)()
}

var privateGroups sync.Map

// groupFile and userFile list the groups and the users. A group that is not listed, such as one of a directory service, is nobody's alone.
// They are read here because os/user links the C library, for which agents would wait at every turn.
const groupFile, userFile = "/etc/group", "/etc/passwd"

func readPrivateGroup(file string, gid uint32) bool {
	group, me := entry(file, uint64(gid)), entry(userFile, uint64(os.Geteuid()))
	return len(group) == 4 && len(me) > 0 && group[0] == me[0] && (group[3] == "" || group[3] == me[0]) // NAME:x:GID:MEMBERS
}

// entry returns the fields of the line of a file of users or groups that has an id; nil: there is none.
func entry(file string, id uint64) []string {
	f, err := os.Open(file)
	if err != nil {
		return nil
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if fields := strings.Split(lines.Text(), ":"); len(fields) > 3 && fields[2] == strconv.FormatUint(id, 10) {
			return fields
		}
	}
	return nil
}

// quote makes a path one word of a shell.
func quote(path string) string {
	if !strings.ContainsFunc(path, func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("/._-+@%,:=", r))
	}) {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}
