package localpg

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
)

// account is the account that the server runs as. The zero account is this process's own.
type account struct {
	name     string
	uid, gid uint32
	switched bool // the account is not our own: we are root
}

// own is the id of the account, and of its group, that the server runs as if root starts it. No account has it, so that nobody but root becomes
// it: accounts of people end at 60000, systemd leaves 60706 to 61183 to nobody (its "Users, Groups, UIDs and GIDs on systemd Systems"), and
// what a user namespace may map begins at 65536.
const own = 60742

// shared are accounts that other programs run as. Whoever is one of them would be master of a cluster that belongs to it.
var shared = []string{"postgres", "_postgres", "nobody"}

// accountFor picks the account that the server runs as. Our own account has the cluster that it has made. A cluster of root, made by root or
// in an earlier release for a shared account, gets an account of its own; see claim. One that root has given to another account stays there.
func accountFor(data string) (account, error) {
	us := uint32(os.Geteuid())
	who, err := ownerOf(data)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		who = account{uid: us}
	case err != nil:
		return account{}, fmt.Errorf("owner of the cluster: %w", err)
	}
	switch {
	case us == 0 && (who.uid == 0 || slices.Contains(shared, who.name)):
		return account{name: strconv.Itoa(own), uid: own, gid: own, switched: true}, nil
	case us == 0:
		return who, nil
	case us == who.uid:
		return account{}, nil
	}
	return account{}, &refusal{ErrBarred, fmt.Sprintf(
		"%s belongs to the account %q: start as that account or as root, or choose another folder with --data", data, who.name)}
}

// ownerOf returns the account that a folder belongs to.
func ownerOf(path string) (account, error) {
	info, err := os.Stat(path)
	if err != nil {
		return account{}, err
	}
	owner := info.Sys().(*syscall.Stat_t)
	return account{name: nameOf(owner.Uid), uid: owner.Uid, gid: owner.Gid, switched: true}, nil
}

// builder returns the account that initdb runs as, for the account of the server: that one, unless it has no name, without which initdb does
// not run. It is then a shared one with the group of the server, by which it alone comes to the folder that it builds in.
func (a account) builder() (account, error) {
	if a.uid != own {
		return a, nil
	}
	for _, name := range shared {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.ParseInt(u.Uid, 10, 64) // macOS: nobody is -2
		if err == nil && uid != 0 {
			return account{name: name, uid: uint32(uid), gid: a.gid, switched: true}, nil
		}
	}
	return account{}, &refusal{ErrBarred,
		`initdb does not run as root and there is no account "postgres" or "nobody": run understudy as an ordinary user`}
}

func nameOf(uid uint32) string {
	id := strconv.FormatUint(uint64(uid), 10)
	if u, err := user.LookupId(id); err == nil {
		return u.Username
	}
	return id
}

// credential returns the credential with which a child runs as the account, or nil if it is our own account.
func (a account) credential() *syscall.Credential {
	if !a.switched {
		return nil
	}
	return &syscall.Credential{Uid: a.uid, Gid: a.gid}
}

// folder makes a folder if it does not exist, and makes the account its owner. It follows no symbolic link, because
// root may work in a folder in which an ordinary user can put links.
func (a account) folder(path string) error {
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return a.own(path)
}

func (a account) own(path string) error {
	if !a.switched {
		return nil
	}
	return os.Lchown(path, int(a.uid), int(a.gid))
}

// create opens a file, makes it if it does not exist, and makes the account its owner. So the account can still start a
// cluster that root has started.
func (a account) create(path string, flag int) (*os.File, error) {
	file, err := os.OpenFile(path, flag|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	if a.switched {
		if err := file.Chown(int(a.uid), int(a.gid)); err != nil {
			file.Close()
			return nil, err
		}
	}
	return file, nil
}

// barredBy returns the first folder on the way from the root to path that the account may not pass through. If there is
// none, it returns "". It ignores folders that do not exist yet.
func (a account) barredBy(path string) string {
	if !a.switched {
		return ""
	}
	barring := ""
	for dir := path; ; dir = filepath.Dir(dir) {
		if info, err := os.Stat(dir); err == nil && !a.passes(info) {
			barring = dir
		}
		if dir == filepath.Dir(dir) {
			return barring
		}
	}
}

func (a account) passes(info fs.FileInfo) bool {
	owner := info.Sys().(*syscall.Stat_t)
	switch mode := info.Mode().Perm(); {
	case owner.Uid == a.uid:
		return mode&0o100 != 0
	case owner.Gid == a.gid:
		return mode&0o010 != 0
	default:
		return mode&0o001 != 0
	}
}
