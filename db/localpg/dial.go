package localpg

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/jackc/pgx/v5"
)

// port is part of the socket's file name and has no other meaning.
const port = "5432"

// ConnString returns the address of the database, for pgx.ParseConfig and
// pgxpool.ParseConfig. The caller must pass the resulting configuration to Configure.
func (c *Cluster) ConnString() string {
	quote := strings.NewReplacer(`\`, `\\`, `'`, `\'`)
	return fmt.Sprintf("host='%s' port=%s user=%s dbname=%s sslmode=disable",
		quote.Replace(c.sock), port, roleName, databaseName)
}

// Configure makes a configuration reach the socket even when its path is too
// long for a socket address (107 bytes on Linux).
func (c *Cluster) Configure(config *pgx.ConnConfig) {
	if c.socketFits() {
		return
	}
	config.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		folder, err := os.Open(filepath.Dir(address))
		if err != nil {
			return nil, err
		}
		defer folder.Close()
		short := fmt.Sprintf("/proc/self/fd/%d/%s", folder.Fd(), filepath.Base(address))
		return new(net.Dialer).DialContext(ctx, network, short)
	}
}

func (c *Cluster) socketFits() bool { return len(c.socket()) <= maxSocketPath }

func (c *Cluster) socket() string { return filepath.Join(c.sock, ".s.PGSQL."+port) }

// ping connects once. It returns nil if the server accepts sessions.
func (c *Cluster) ping(ctx context.Context) error {
	conn, err := c.connect(ctx, Owner)
	if err != nil {
		return err
	}
	return conn.Close(ctx)
}
