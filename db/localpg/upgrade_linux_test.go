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
	installed, err := FindBinaries()
	if err != nil {
		t.Fatal(err)
	}
	// Not called "bin": then PostgreSQL would look for its libraries beside it.
	bin := filepath.Join(filepath.Dir(dir), "programs")
	if err := os.Mkdir(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, program := range []string{"initdb", "postgres"} {
		copyProgram(t, installed.Path(program), filepath.Join(bin, program))
	}
	process, ready := startDaemon(t, dir, daemonBin+"="+bin)
	pid := ready()
	kill(t, process)
	upgrade := filepath.Join(bin, "upgrade")
	copyProgram(t, installed.Path("postgres"), upgrade)
	if err := os.Rename(upgrade, filepath.Join(bin, "postgres")); err != nil {
		t.Fatal(err)
	}

	c, err := Start(t.Context(), Config{Dir: dir, BinDir: bin, NoSync: true, Log: logger(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer stop(t, c)
	if c.PID() == pid {
		t.Error("adopted a server whose program is gone from the disk")
	}
}

func copyProgram(t *testing.T, from, to string) {
	t.Helper()
	source, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	target, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(target, source); err != nil {
		t.Fatal(err)
	}
	if err := target.Close(); err != nil {
		t.Fatal(err)
	}
}
