package localpg

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Owner is the superuser of the server, for a person with pg_dump and for tests. roleName is the role of the daemon, which is none, so that a
// flaw in its SQL reaches neither files nor programs. Both are open to the account of the cluster and to root, who own the files anyway. The
// server asks the kernel who connects.
const (
	Owner        = "understudy"
	roleName     = "understudy_daemon"
	databaseName = "understudy"
)

// makeRole makes the role of the daemon, and gives it what is Owner's: all, if an earlier release has made it.
//
//go:embed role.sql
var makeRole string

// doors returns which accounts the server lets in, as pg_ident.conf and pg_hba.conf say it: its own, ours and root. The server compares names of
// accounts. If one has no certain name, it asks nobody, and the mode of the socket's folder alone keeps others out.
func (c *Cluster) doors() (ident, hba string) {
	uids := []uint32{0, uint32(os.Geteuid())}
	if c.who.switched && c.who.uid != own && !slices.Contains(shared, c.who.name) {
		uids = append(uids, c.who.uid)
	}
	for i, uid := range uids {
		name, ok := certainName(uid)
		switch {
		case slices.Contains(uids[:i], uid):
		case ok:
			ident += fmt.Sprintf("understudy \"%s\" %s\nunderstudy \"%[1]s\" %[3]s\n", name, Owner, roleName)
		case i > 0 || os.Geteuid() == 0: // we ourselves, or the owner
			return "", "local all all trust\n"
		}
	}
	return ident, "local all all peer map=understudy\n"
}

// certainName returns the name by which this process and the server know an account. The server asks the system's library, which programs
// of Go may do without: then only what /etc/passwd lists is the same for both.
func certainName(uid uint32) (string, bool) {
	u, err := user.LookupId(strconv.FormatUint(uint64(uid), 10))
	if err != nil || strings.ContainsAny(u.Username, "\"\\\n") || strings.HasPrefix(u.Username, "/") {
		return "", false
	}
	if runtime.GOOS == "darwin" {
		return u.Username, true
	}
	list, err := os.ReadFile("/etc/passwd")
	return u.Username, err == nil && strings.Contains("\n"+string(list), "\n"+u.Username+":") && strings.Contains(string(list), fmt.Sprintf(":%d:", uid))
}

// letIn writes whom the server lets in.
func (c *Cluster) letIn() error {
	folder, err := os.OpenRoot(c.data) // root writes into a folder of another account
	if err != nil {
		return err
	}
	defer folder.Close()
	ident, hba := c.doors()
	for _, file := range []struct{ name, text string }{{"pg_ident.conf", ident}, {"pg_hba.conf", hba}} {
		text := "# Written by understudy at each start.\n" + file.text
		if had, err := folder.ReadFile(file.name); err == nil && string(had) == text {
			continue
		}
		temp := file.name + ".new"
		if err := folder.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err := folder.WriteFile(temp, []byte(text), 0o600); err != nil {
			return err
		}
		if err := c.who.ownIn(folder, temp); err != nil {
			return err
		}
		if err := folder.Rename(temp, file.name); err != nil {
			return err
		}
	}
	return nil
}

// reopen tells a server that we have not launched whom to let in: an earlier release, or another account, has started it.
func (c *Cluster) reopen(s *server) error {
	if err := c.letIn(); err != nil {
		return fmt.Errorf("accounts of PostgreSQL: %w", err)
	}
	if err := syscall.Kill(s.pid, syscall.SIGHUP); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("accounts of PostgreSQL: %w", err)
	}
	return nil
}

// giveRole sees to it that there is the daemon's role, which owns what is in the database.
func (c *Cluster) giveRole(ctx context.Context, s *server) error {
	conn, err := c.connect(ctx, Owner)
	if err == nil {
		defer conn.Close(ctx)
		_, err = conn.Exec(ctx, makeRole)
	}
	refused, answered := errors.AsType[*pgconn.PgError](err)
	switch {
	case err == nil, answered && refused.Code == tooManyClients: // those who have the connections have made the role
		return nil
	case c.gone(s):
		return errServerGone
	}
	return fmt.Errorf("role of PostgreSQL: %w", err)
}

// connect opens a session as a role.
func (c *Cluster) connect(ctx context.Context, role string) (*pgx.Conn, error) {
	config, err := pgx.ParseConfig(c.ConnString())
	if err != nil {
		return nil, err
	}
	config.User = role
	c.Configure(config)
	return pgx.ConnectConfig(ctx, config)
}

// owned reports whether all of the cluster's files belong to the account that the server is to run as.
func (c *Cluster) owned() bool {
	info, err := os.Stat(c.data)
	return err != nil || !c.who.switched || info.Sys().(*syscall.Stat_t).Uid == c.who.uid
}

// claim gives the account what the owner of a cluster without a server owns of it, and the folder itself at last, so that a claim that was cut
// off, or has failed, is begun anew. It follows no link out of the folder.
func (a account) claim(data string) error {
	if !a.switched {
		return nil
	}
	folder, err := os.OpenRoot(data)
	if err != nil {
		return err
	}
	defer folder.Close()
	top, err := folder.Stat(".")
	if err != nil {
		return err
	}
	owner := top.Sys().(*syscall.Stat_t).Uid
	err = fs.WalkDir(folder.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || name == "." {
			return err
		}
		info, err := d.Info()
		if err != nil || info.Sys().(*syscall.Stat_t).Uid != owner { // somebody may have linked a file of root's to here
			return err
		}
		return a.ownIn(folder, name)
	})
	if err != nil {
		return err
	}
	return a.ownIn(folder, ".")
}

func (a account) ownIn(folder *os.Root, name string) error {
	if !a.switched {
		return nil
	}
	return folder.Lchown(name, int(a.uid), int(a.gid))
}

// enter lets the account's group pass through a folder of root, and nobody else.
func (a account) enter(dir string) error {
	if a.uid != own {
		return a.own(dir)
	}
	return errors.Join(os.Lchown(dir, 0, int(a.gid)), os.Chmod(dir, 0o710))
}
