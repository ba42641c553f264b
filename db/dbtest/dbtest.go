package dbtest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/understudyd/understudy/db/localpg"
	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

// URLVariable names the environment variable with the server to use. The
// server's user must be allowed to create databases.
const URLVariable = "UNDERSTUDY_TEST_DATABASE_URL"

// startTimeout limits the start of a server and the migration of a template.
const startTimeout = time.Minute

// Migrate brings an empty database to the schema that tests need. It closes
// its connections before it returns.
type Migrate = func(ctx context.Context, connString string) error

// process is shared by all tests of this process.
var process struct {
	mu        sync.Mutex
	server    *server
	failure   error // of the start: every later test fails at once
	templates map[uintptr]*template
}

// template is a database that is migrated at its first use.
type template struct {
	once sync.Once
	name string
	err  error
}

// New returns the connection string of a new database that migrate has
// prepared. If migrate is nil, the database is empty. Templates are told apart
// by the function's code, so two closures of one function literal share one.
func New(t testing.TB, migrate Migrate) string {
	t.Helper()
	s, err := shared()
	if err != nil {
		t.Fatal(explain(err))
	}
	from := "template0"
	if migrate != nil {
		if from, err = s.template(migrate); err != nil {
			t.Fatalf("migration of the template database: %v", err)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	name, err := s.create(ctx, from)
	if err != nil {
		t.Fatal(err)
	}
	if s.cluster == nil { // our own cluster is removed as a whole
		t.Cleanup(func() { s.drop(t, name) })
	}
	return s.connString(name)
}

// With returns a connection string with one more setting.
func With(connString, name, value string) string {
	u, err := url.Parse(connString)
	if err != nil || !strings.HasPrefix(u.Scheme, "postgres") {
		return connString + " " + name + "=" + value
	}
	q := u.Query()
	q.Set(name, value)
	u.RawQuery = q.Encode()
	return u.String()
}

// Cluster starts a cluster for one test. The test may kill its server and
// call Ensure to start it again. The cluster is removed at the end of the test.
func Cluster(t testing.TB) *localpg.Cluster {
	t.Helper()
	return ClusterWith(t, nil)
}

// ClusterWith is [Cluster] with settings of the server.
func ClusterWith(t testing.TB, settings map[string]string) *localpg.Cluster {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	cluster, dir, err := startCluster(ctx, settings)
	if err != nil {
		t.Fatal(explain(err))
	}
	t.Cleanup(func() {
		if err := errors.Join(stopCluster(cluster), os.RemoveAll(dir)); err != nil {
			t.Errorf("end of the test cluster: %v", err)
		}
	})
	return cluster
}

// Main runs the tests of a package as [wardentest.Run] does. Then it ends the
// shared server, or drops this process's databases on the server of
// UNDERSTUDY_TEST_DATABASE_URL. It is for TestMain: os.Exit(dbtest.Main(m)).
// If a process ends without it, its own server is removed a moment later, and
// databases on the given server are dropped at that server's next use.
func Main(m *testing.M) int {
	return wardentest.Run(func() int { return run(m) })
}

func run(m *testing.M) int {
	code := m.Run()
	process.mu.Lock()
	defer process.mu.Unlock()
	if process.server != nil {
		if err := process.server.end(); err != nil {
			fmt.Fprintln(os.Stderr, "dbtest:", err)
			code = max(code, 1)
		}
	}
	return code
}

// shared returns the server of this process, and starts it at the first call.
func shared() (*server, error) {
	process.mu.Lock()
	defer process.mu.Unlock()
	if process.server == nil && process.failure == nil {
		ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
		defer cancel()
		process.server, process.failure = startServer(ctx)
	}
	return process.server, process.failure
}

// template returns the name of the database that migrate has prepared.
func (s *server) template(migrate Migrate) (string, error) {
	process.mu.Lock()
	if process.templates == nil {
		process.templates = map[uintptr]*template{}
	}
	key := reflect.ValueOf(migrate).Pointer()
	prepared := process.templates[key]
	if prepared == nil {
		prepared = &template{}
		process.templates[key] = prepared
	}
	process.mu.Unlock()

	prepared.once.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
		defer cancel()
		if prepared.name, prepared.err = s.create(ctx, "template0"); prepared.err != nil {
			return
		}
		prepared.err = migrate(ctx, s.connString(prepared.name))
	})
	return prepared.name, prepared.err
}

// explain returns the message for a failed start. For a missing PostgreSQL it says what to run in a checkout.
func explain(err error) string {
	if errors.Is(err, localpg.ErrMissing) {
		return fmt.Sprintf("this test needs PostgreSQL: run `go run ./cmd/understudy doctor --fix` (%v)", err)
	}
	return fmt.Sprintf("PostgreSQL for tests: %v", err)
}
