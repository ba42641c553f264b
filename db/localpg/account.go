package localpg

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// account is the account that the server runs as. The zero account is this process's own.
type account struct {
	name     string
	uid, gid uint32
	switched bool // the account is not our own: we are root
}

// accountFor picks the account that the server runs as. If the cluster exists, that is its owner. Otherwise it
// is our own account or, if we are root, the account that unprivileged picks.
func accountFor(data string) (account, error) {
	us := uint32(os.Geteuid())
	info, err := os.Stat(data)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if us != 0 {
			return account{}, nil
		}
		return unprivileged()
	case err != nil:
		return account{}, fmt.Errorf("owner of the cluster: %w", err)
	}
	owner := info.Sys().(*syscall.Stat_t)
	who := account{name: nameOf(owner.Uid), uid: owner.Uid, gid: owner.Gid, switched: true}
	switch {
	case us == 0 && owner.Uid == 0:
		return account{}, &refusal{ErrBarred, fmt.Sprintf(
			"%s belongs to root, as which PostgreSQL does not run: give it to another account with `chown -R postgres: %s`", data, data)}
	case us == 0:
		return who, nil
	case us == owner.Uid:
		return account{}, nil
	}
	return account{}, &refusal{ErrBarred, fmt.Sprintf(
		"%s belongs to the account %q: start as that account or as root, or choose another folder with --data", data, who.name)}
}

// unprivileged returns the account that owns a new cluster if we are root. It prefers "postgres" ("_postgres" on macOS)
// to "nobody", because other services share "nobody".
func unprivileged() (account, error) {
	for _, name := range []string{"postgres", "_postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, errUID := strconv.ParseInt(u.Uid, 10, 64) // macOS: nobody is -2
		gid, errGID := strconv.ParseInt(u.Gid, 10, 64)
		if errUID == nil && errGID == nil && uid != 0 {
			return account{name: name, uid: uint32(uid), gid: uint32(gid), switched: true}, nil
		}
	}
	return account{}, &refusal{ErrBarred,
		`PostgreSQL does not run as root and there is no account "postgres" or "nobody": run understudy as an ordinary user`}
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
