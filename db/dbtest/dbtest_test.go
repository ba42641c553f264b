package dbtest_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/understudyd/understudy/db/dbtest"
	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

// victim makes this binary a test process that uses a database and waits until
// it is killed.
const victim = "DBTEST_TEST_VICTIM"

func TestMain(m *testing.M) { os.Exit(dbtest.Main(m)) }

var migrations atomic.Int32

func migrate(ctx context.Context, connString string) error {
	migrations.Add(1)
	conn, err := pgx.Connect(ctx, connString)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, "CREATE TABLE note (body text)")
	return errors.Join(err, conn.Close(ctx))
}

func TestEachTestHasItsOwnDatabase(t *testing.T) {
	for i := range 8 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			conn := connect(t, dbtest.New(t, migrate))
			wardentest.Value(conn.Exec(t.Context(), "INSERT INTO note VALUES ($1)", fmt.Sprint(i)))(t)
			var all int
			if err := conn.QueryRow(t.Context(), "SELECT count(*) FROM note").Scan(&all); err != nil || all != 1 {
				t.Errorf("%d notes, want our own: %v", all, err)
			}
		})
	}
	t.Run("migrated once", func(t *testing.T) {
		dbtest.New(t, migrate)
		equal(t, "migrated … times", migrations.Load(), int32(1))
	})
	t.Run("empty", func(t *testing.T) {
		var tables int
		err := connect(t, dbtest.New(t, nil)).QueryRow(t.Context(),
			"SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").Scan(&tables)
		if err != nil || tables != 0 {
			t.Errorf("%d tables: %v", tables, err)
		}
	})
}

func TestAnotherMigrationIsAnotherTemplate(t *testing.T) {
	t.Parallel()
	conn := connect(t, dbtest.New(t, func(ctx context.Context, connString string) error {
		other, err := pgx.Connect(ctx, connString)
		if err != nil {
			return err
		}
		_, err = other.Exec(ctx, "CREATE TABLE other ()")
		return errors.Join(err, other.Close(ctx))
	}))
	if _, err := conn.Exec(t.Context(), "SELECT FROM other"); err != nil {
		t.Error(err)
	}
}

func TestClusterMayBeKilled(t *testing.T) {
	t.Parallel()
	c := dbtest.Cluster(t)
	killed := c.PID()
	must(t, syscall.Kill(killed, syscall.SIGKILL))
	wardentest.Eventually(t, "a server after the killed one", func() bool {
		return c.Ensure(t.Context()) == nil && c.PID() != killed
	})
	connect(t, c.ConnString())
}

// TestAKilledProcessLeavesNothing kills a test process that has a cluster.
func TestAKilledProcessLeavesNothing(t *testing.T) {
	t.Parallel()
	if os.Getenv(victim) != "" {
		beVictim(t)
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestAKilledProcessLeavesNothing$")
	cmd.Env = append(os.Environ(), victim+"=1", dbtest.URLVariable+"=")
	stdin := wardentest.Value(cmd.StdinPipe())(t)
	defer stdin.Close()
	stdout := wardentest.Value(cmd.StdoutPipe())(t)
	must(t, cmd.Start())
	line, err := bufio.NewReader(stdout).ReadString('\n')
	dir, ok := strings.CutPrefix(strings.TrimSpace(line), "cluster ")
	if killErr := cmd.Process.Kill(); killErr != nil {
		t.Fatal(killErr)
	}
	_ = cmd.Wait() // it was killed
	if !ok {
		t.Fatalf("the victim said %q: %v", line, err)
	}
	wardentest.Eventually(t, "removal of "+dir, func() bool {
		_, err := os.Stat(dir)
		return errors.Is(err, os.ErrNotExist)
	})
}

func beVictim(t *testing.T) {
	config := wardentest.Value(pgx.ParseConfig(dbtest.New(t, migrate)))(t)
	fmt.Println("cluster", filepath.Dir(config.Host))
	_, _ = io.Copy(io.Discard, os.Stdin) // ends if the parent test is killed
}

func connect(t *testing.T, connString string) *pgx.Conn {
	t.Helper()
	conn := wardentest.Value(pgx.Connect(t.Context(), connString))(t)
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

var must, equal = wardentest.Must, wardentest.Equal
