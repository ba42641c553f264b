package localpg

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5"
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

// letIn writes which accounts the server lets in. It reports whether that has changed.
func (c *Cluster) letIn() (changed bool, err error) {
	folder, err := os.OpenRoot(c.data) // root writes into a folder of another account
	if err != nil {
		return false, err
	}
	defer folder.Close()
	names := []string{nameOf(uint32(os.Geteuid()))}
	if c.who.switched && c.who.uid != own {
		names = append(names, c.who.name)
	}
	var accounts strings.Builder
	for _, name := range append(names, nameOf(0)) {
		for _, role := range []string{Owner, roleName} {
			line := fmt.Sprintf("understudy %q %s\n", name, role)
			if !strings.Contains(accounts.String(), line) {
				accounts.WriteString(line)
			}
		}
	}
	for _, file := range []struct{ name, text string }{
		{"pg_ident.conf", accounts.String()},
		{"pg_hba.conf", "local all all peer map=understudy\n"},
	} {
		text := "# Written by understudy at each start.\n" + file.text
		if had, err := folder.ReadFile(file.name); err == nil && string(had) == text {
			continue
		}
		changed = true
		temp := file.name + ".new"
		if err := folder.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false, err
		}
		if err := errors.Join(folder.WriteFile(temp, []byte(text), 0o600), c.who.ownIn(folder, temp), folder.Rename(temp, file.name)); err != nil {
			return false, err
		}
	}
	return changed, nil
}

// admit lets the daemon in: the server is told whom to let in, if an earlier release or another account has started it, and has the daemon's role.
func (c *Cluster) admit(ctx context.Context, s *server) error {
	changed, err := c.letIn()
	if err == nil && changed {
		err = syscall.Kill(s.pid, syscall.SIGHUP)
	}
	if err != nil {
		return fmt.Errorf("accounts of PostgreSQL: %w", err)
	}
	conn, err := c.connect(ctx, Owner)
	if err != nil {
		return fmt.Errorf("role of PostgreSQL: %w", err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, makeRole); err != nil {
		return fmt.Errorf("role of PostgreSQL: %w", err)
	}
	return nil
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

// claim gives the account all files of a cluster without a server, and the folder itself at last, so that a claim that was cut off is begun
// anew. It follows no link out of the folder.
func (a account) claim(data string) error {
	if !a.switched {
		return nil
	}
	folder, err := os.OpenRoot(data)
	if err != nil {
		return err
	}
	defer folder.Close()
	var names []string
	err = fs.WalkDir(folder.FS(), ".", func(name string, _ fs.DirEntry, err error) error {
		names = append(names, name)
		return err
	})
	for _, name := range slices.Backward(names) {
		err = errors.Join(err, a.ownIn(folder, name))
	}
	return err
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
