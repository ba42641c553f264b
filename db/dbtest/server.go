package dbtest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/understudyd/understudy/db/localpg"
)

// databasePrefix marks our databases on a shared server.
const databasePrefix = "understudy_test_"

// inUse is the SQLSTATE for copying a template on which a session is open.
const inUse = "55006"

// server is the server that holds the databases.
type server struct {
	base    string           // connection string of any database on the server
	cluster *localpg.Cluster // nil if the server is not ours
	mark    string           // prefix of this process's database names; also its application_name

	mu    sync.Mutex // guards the fields below; PostgreSQL copies templates one by one anyway
	admin *pgx.Conn
	made  int
}

func startServer(ctx context.Context) (*server, error) {
	s := &server{
		base: os.Getenv(URLVariable),
		mark: databasePrefix + strings.ToLower(rand.Text()[:8]),
	}
	if s.base == "" {
		// Connections for the pools of many parallel tests. A vacuum is not worth its time here, nor is planning a
		// statement anew for its first five executions on many short-lived connections.
		cluster, _, err := startCluster(ctx, map[string]string{
			"max_connections": "200", "autovacuum": "off", "plan_cache_mode": "force_generic_plan",
		})
		if err != nil {
			return nil, err
		}
		s.cluster, s.base = cluster, cluster.ConnString()
		if err := s.mayCreate(ctx); err != nil {
			return nil, errors.Join(err, s.end())
		}
	}
	if err := s.connect(ctx); err != nil {
		return nil, errors.Join(err, s.end())
	}
	return s, nil
}

// mayCreate lets the daemon's role make databases. Tests have no other role, so that they see what it may not do.
func (s *server) mayCreate(ctx context.Context) error {
	config, err := pgx.ParseConfig(s.base)
	if err != nil {
		return err
	}
	role := pgx.Identifier{config.User}.Sanitize()
	config.User = localpg.Owner
	s.cluster.Configure(config)
	owner, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return err
	}
	defer owner.Close(ctx)
	_, err = owner.Exec(ctx, "ALTER ROLE "+role+" CREATEDB")
	return err
}

func (s *server) connect(ctx context.Context) error {
	config, err := pgx.ParseConfig(s.base)
	if err != nil {
		return fmt.Errorf("%s: %w", URLVariable, err)
	}
	config.RuntimeParams["application_name"] = s.mark
	if s.admin, err = pgx.ConnectConfig(ctx, config); err != nil {
		return err
	}
	if s.cluster == nil {
		return s.sweep(ctx)
	}
	return nil
}

// sweep drops the databases of test processes that were killed: those whose
// admin session is gone.
func (s *server) sweep(ctx context.Context) error {
	rows, err := s.admin.Query(ctx, `
		SELECT datname FROM pg_database
		WHERE starts_with(datname, $1) AND NOT EXISTS (
			SELECT FROM pg_stat_activity AS owner
			WHERE starts_with(owner.application_name, $1)
				AND starts_with(pg_database.datname, owner.application_name))`,
		databasePrefix)
	if err != nil {
		return err
	}
	left, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return fmt.Errorf("databases of killed tests: %w", err)
	}
	for _, name := range left {
		if err := s.dropDatabase(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// create copies a database and returns the new one's name.
func (s *server) create(ctx context.Context, from string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.made++
	name := fmt.Sprintf("%s_%d", s.mark, s.made)
	sql := "CREATE DATABASE " + name + " TEMPLATE " + from
	if s.cluster != nil && s.admin.PgConn().ParameterStatus("server_version") >= "15" {
		sql += " STRATEGY file_copy" // in memory and without sync twice as fast as the default
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		_, err := s.admin.Exec(ctx, sql)
		if err == nil {
			return name, nil
		}
		// The server ends a session a moment after the migration has closed it.
		if refused, ok := errors.AsType[*pgconn.PgError](err); !ok || refused.Code != inUse {
			return "", fmt.Errorf("database %s: %w", name, err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return "", fmt.Errorf("database %s: %w: did the migration close its connections?", name, err)
		}
	}
}

func (s *server) drop(t testing.TB, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	if err := s.dropDatabase(ctx, name); err != nil {
		t.Error(err)
	}
}

func (s *server) dropDatabase(ctx context.Context, name string) error {
	_, err := s.admin.Exec(ctx, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)")
	if err != nil {
		return fmt.Errorf("database %s: %w", name, err)
	}
	return nil
}

// connString returns base with another database.
func (s *server) connString(database string) string {
	if u, err := url.Parse(s.base); err == nil && (u.Scheme == "postgres" || u.Scheme == "postgresql") {
		u.Path = "/" + database
		return u.String()
	}
	return s.base + " dbname=" + database // of two settings the last one counts
}

// end removes everything that this process made.
func (s *server) end() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	var errs []error
	if s.admin != nil {
		if s.cluster == nil {
			for n := 1; n <= s.made; n++ {
				errs = append(errs, s.dropDatabase(ctx, fmt.Sprintf("%s_%d", s.mark, n)))
			}
		}
		errs = append(errs, s.admin.Close(ctx))
	}
	if s.cluster != nil {
		errs = append(errs, stopCluster(s.cluster))
	}
	return errors.Join(errs...)
}
