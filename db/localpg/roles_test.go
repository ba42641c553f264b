package localpg

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

// TestOthersAreNotLetIn: an earlier release let everybody in who came to the socket, as a superuser, and root ran the server as an account that
// other programs have. Such a server is still at work. Its cluster gets an account of its own, and the daemon a role that is no superuser and
// owns what the superuser had made.
func TestOthersAreNotLetIn(t *testing.T) {
	t.Parallel()
	dir := cluster(t)
	old := value(open(Config{Dir: dir, NoSync: true, Log: logger(t)}))(t)
	old.who = value(old.who.builder())(t)
	old.who.gid = old.who.uid
	must(t, old.who.claim(old.data))
	must(t, old.Ensure(t.Context()))
	t.Cleanup(func() { sweep(dir) })
	trust := filepath.Join(old.data, "pg_hba.conf")
	must(t, os.WriteFile(trust, []byte("local all all trust\n"), 0o600))
	must(t, syscall.Kill(old.PID(), syscall.SIGHUP))
	asOwner := func(c *Cluster, sql string) {
		t.Helper()
		conn := wardentest.Value(c.connect(t.Context(), Owner))(t)
		defer conn.Close(t.Context())
		value(conn.Exec(t.Context(), sql))(t)
	}
	asOwner(old, "REASSIGN OWNED BY understudy_daemon TO understudy; DROP ROLE understudy_daemon")
	asOwner(old, `CREATE TABLE canary (id bigint GENERATED ALWAYS AS IDENTITY, n serial); CREATE VIEW v AS TABLE canary; CREATE SEQUENCE s; CREATE TYPE e AS ENUM ('a');
		CREATE FUNCTION f(e) RETURNS int LANGUAGE sql AS 'SELECT 1'; CREATE SCHEMA "an other"; CREATE MATERIALIZED VIEW "an other".m AS TABLE canary`)
	intrude := func() string {
		cmd := exec.Command("psql", "-h", old.sock, "-U", Owner, "-Atc", "SELECT 'in'")
		cmd.Dir, cmd.SysProcAttr = "/", &syscall.SysProcAttr{Credential: old.who.credential()}
		out, _ := cmd.CombinedOutput()
		return string(out)
	}
	equal(t, "the door that is to be closed", intrude(), "in\n")
	old.release()

	c := start(t, dir)
	if os.Geteuid() == 0 {
		for _, want := range []string{"Permission denied", "Peer authentication failed"} {
			if got := intrude(); !strings.Contains(got, want) {
				t.Errorf("another process of the server's old account: %q, want %q", got, want)
			}
			must(t, errors.Join(os.Chmod(c.sock, 0o711), os.Chmod(c.socket(), 0o777)))
		}
	}
	run(t, c, `ALTER TABLE canary ADD x int; DROP VIEW v; DROP SEQUENCE s; DROP FUNCTION f(e); DROP TYPE e; DROP SCHEMA "an other" CASCADE; CREATE TABLE more ()`)
	equal(t, "the daemon's role is a superuser", ask[string](t, c, "SHOW is_superuser"), "off")
	stop(t, c)
	must(t, filepath.WalkDir(c.data, func(path string, d os.DirEntry, err error) error {
		if err == nil && c.who.switched {
			info := wardentest.Value(d.Info())(t)
			equal(t, path+" belongs to", info.Sys().(*syscall.Stat_t).Uid, uint32(own))
		}
		return err
	}))
}
