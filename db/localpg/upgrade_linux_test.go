package localpg

import (
	"io"
	"os"
	"path/filepath"
	"testing"
)

func TestReplacesAnUpgradedServer(t *testing.T) {
	t.Parallel()
	dir := cluster(t)
	installed := value(FindBinaries())(t)
	// Not called "bin": then PostgreSQL would look for its libraries beside it.
	bin := filepath.Join(filepath.Dir(dir), "programs")
	must(t, os.Mkdir(bin, 0o755))
	for _, program := range []string{"initdb", "postgres"} {
		copyProgram(t, installed.Path(program), filepath.Join(bin, program))
	}
	process, ready := startDaemon(t, dir, daemonBin+"="+bin)
	pid := ready()
	kill(t, process)
	upgrade := filepath.Join(bin, "upgrade")
	copyProgram(t, installed.Path("postgres"), upgrade)
	must(t, os.Rename(upgrade, filepath.Join(bin, "postgres")))

	c := value(Start(t.Context(), Config{Dir: dir, BinDir: bin, NoSync: true, Log: logger(t)}))(t)
	defer stop(t, c)
	if c.PID() == pid {
		t.Error("adopted a server whose program is gone from the disk")
	}
}

func copyProgram(t *testing.T, from, to string) {
	t.Helper()
	source := value(os.Open(from))(t)
	defer source.Close()
	target := value(os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755))(t)
	value(io.Copy(target, source))(t)
	must(t, target.Close())
}
