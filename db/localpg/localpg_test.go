package localpg

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

func TestStartsAnewAndAgain(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	c := start(t, dir)
	equal(t, "database and user", ask[string](t, c, "SELECT current_database() || ' ' || current_user"), "understudy understudy_daemon")
	for setting, want := range map[string]string{
		"listen_addresses": "", "data_checksums": "on", "wal_segment_size": "4MB", "wal_level": "minimal",
		"server_encoding": "UTF8", "max_connections": "40", "fsync": "off", "dynamic_shared_memory_type": "mmap",
	} {
		equal(t, setting+" is", ask[string](t, c, "SHOW "+setting), want)
	}
	equal(t, "upper case of é is …: not a UTF-8 locale", ask[string](t, c, "SELECT upper('é')"), "É")
	for _, private := range []string{"data", "sock"} {
		equal(t, "mode of "+private, value(os.Stat(filepath.Join(dir, private)))(t).Mode().Perm(), os.FileMode(0o700))
	}
	run(t, c, "CREATE TABLE canary AS SELECT 1 AS x")
	pid := c.PID()
	stop(t, c)
	if c.belongs(pid) {
		t.Error("the server runs after Stop")
	}
	wardentest.WantErr(t, "Ensure after Stop", c.Ensure(t.Context()))

	equal(t, "the second start lost the data", ask[int](t, start(t, dir), "SELECT x FROM canary"), 1)
}

// TestStopsBesideAFork: a child that was forked while the server ran, and has not called exec yet, keeps no lock.
func TestStopsBesideAFork(t *testing.T) {
	t.Parallel()
	dir := cluster(t)
	c := start(t, dir)
	forked := value(syscall.Dup(int(c.lock.Fd())))(t)
	t.Cleanup(func() { _ = syscall.Close(forked) })
	stop(t, c)
	start(t, dir)
}

func TestAdoptsWhatAKilledDaemonLeft(t *testing.T) {
	t.Parallel()
	dir := cluster(t)
	process, ready := startDaemon(t, dir)
	pid := ready()
	kill(t, process)

	c := start(t, dir)
	equal(t, "the adopted server", c.PID(), pid)
	answers(t, c)
	stop(t, c)
	if c.belongs(pid) {
		t.Error("the adopted server runs after Stop")
	}
}

func TestAdoptsAServerThatIsStopping(t *testing.T) {
	t.Parallel()
	dir := cluster(t)
	process, ready := startDaemon(t, dir)
	pid := ready()
	kill(t, process)
	must(t, syscall.Kill(pid, syscall.SIGINT))
	answers(t, start(t, dir))
}

func TestRecoversFromSIGKILLUnderLoad(t *testing.T) {
	t.Parallel()
	c := value(Start(t.Context(), Config{Dir: cluster(t), Log: logger(t)}))(t) // with sync, so that committed rows survive
	defer stop(t, c)
	run(t, c, "CREATE TABLE load (n serial, filler text)")
	committed := make(chan int, 1)
	writer := connect(t, c)
	go func() {
		n := 0
		for {
			if _, err := writer.Exec(t.Context(), "INSERT INTO load (filler) VALUES (repeat('x', 2000))"); err != nil {
				committed <- n
				return
			}
			n++
		}
	}()
	// A busy backend notices the end of its server late.
	busy := connect(t, c)
	go func() { _, _ = busy.Exec(t.Context(), "SELECT count(*) FROM generate_series(1, 1000000000)") }()
	watcher := connect(t, c)
	wardentest.Eventually(t, "load", func() bool { return askOn[int](t, watcher, "SELECT count(*) FROM load") > 100 })
	wardentest.Eventually(t, "a busy backend", func() bool {
		return askOn[int](t, watcher, "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%generate_series%' AND state = 'active' AND pid <> pg_backend_pid()") == 1
	})
	crashed := c.PID()
	crash(t, c)

	must(t, c.Ensure(t.Context()))
	if c.PID() == crashed {
		t.Error("the process id is still that of the killed server")
	}
	if got, want := ask[int](t, c, "SELECT count(*) FROM load"), <-committed; got < want {
		t.Errorf("%d rows of %d committed ones", got, want)
	}
}

func TestStartsOverAStaleLockFile(t *testing.T) {
	t.Parallel()
	c := start(t, cluster(t))
	// A live process and a zombie of the server's own account: PostgreSQL
	// takes both for another server.
	live := stranger(t, c, "sleep", "600")
	zombie := stranger(t, c, "true")
	wardentest.Eventually(t, "a zombie", func() bool { return dead(zombie) })

	for name, pid := range map[string]int{"live": live, "zombie": zombie, "ourselves": os.Getpid()} {
		crash(t, c)
		text := value(os.ReadFile(c.lockFile()))(t)
		_, rest, _ := strings.Cut(string(text), "\n")
		for _, lock := range []string{c.lockFile(), c.socket() + ".lock"} {
			must(t, os.WriteFile(lock, []byte(strconv.Itoa(pid)+"\n"+rest), 0o600))
		}
		if err := c.Ensure(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	crash(t, c)
	must(t, os.Truncate(c.lockFile(), 0))
	if err := c.Ensure(t.Context()); err != nil {
		t.Errorf("empty lock file: %v", err)
	}
	if err := syscall.Kill(live, 0); err != nil {
		t.Errorf("the stranger was killed: %v", err)
	}
}

func TestSweepsAHalfMadeCluster(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	half := filepath.Join(dir, "init-1234", "data")
	must(t, os.MkdirAll(half, 0o711))
	must(t, os.WriteFile(filepath.Join(half, "PG_VERSION"), []byte("15\n"), 0o600))
	process, _ := startDaemon(t, dir)
	wardentest.Eventually(t, "initdb at work", func() bool {
		files, _ := filepath.Glob(filepath.Join(dir, "init-*", "workshop", "data", "base", "1", "*"))
		return len(files) > 0
	})
	kill(t, process)
	if _, err := os.Stat(filepath.Join(dir, "data")); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("data/ exists before it is whole: %v", err)
	}
	answers(t, start(t, dir))
	failed(os.Stat(filepath.Dir(half)))(t, "the half-made cluster", os.ErrNotExist)
}

func TestReachesALongSocketPath(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(folder(t), strings.Repeat("quite'long/", 15))
	must(t, os.MkdirAll(dir, 0o711))
	c := start(t, dir)
	if len(c.socket()) < 150 {
		t.Fatalf("not a long path: %s", c.socket())
	}
	answers(t, c)
}

func TestRefusesAnotherMajorVersion(t *testing.T) {
	t.Parallel()
	dir := cluster(t)
	version := filepath.Join(dir, "data", "PG_VERSION")
	canary := filepath.Join(dir, "data", "canary")
	for _, path := range []string{version, canary} {
		must(t, os.WriteFile(path, []byte("9\n"), 0o600))
	}
	before := list(t, filepath.Join(dir, "data"))
	bin := value(FindBinaries())(t)
	failed(Start(t.Context(), Config{Dir: dir}))(t, "another version", ErrVersion, "PostgreSQL 9 ", bin.Version)
	equal(t, "the cluster was touched", before, list(t, filepath.Join(dir, "data")))
}

func TestRefusesAForeignFolder(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	holiday := filepath.Join(dir, "data", "holiday.jpg")
	must(t, os.MkdirAll(filepath.Dir(holiday), 0o711))
	must(t, os.WriteFile(holiday, nil, 0o600))
	if os.Geteuid() == 0 { // otherwise the folder is refused because it belongs to root
		must(t, os.Chown(filepath.Dir(holiday), 65534, 65534))
	}
	failed(Start(t.Context(), Config{Dir: dir}))(t, "a foreign folder", "move it away")
	if _, err := os.Stat(holiday); err != nil {
		t.Error(err)
	}
}

func TestNamesTheFolderThatBars(t *testing.T) {
	t.Parallel()
	barring := filepath.Dir(folder(t))
	must(t, os.Chmod(barring, 0o700))
	dir := filepath.Join(barring, "data", "postgres")
	stranger := account{name: "stranger", uid: 4242, gid: 4242, switched: true}
	equal(t, "barred by", stranger.barredBy(dir), barring)
	equal(t, "our own account is barred by", (account{}).barredBy(dir), "")
	if os.Geteuid() != 0 { // only root starts a server for another account
		return
	}
	failed(Start(t.Context(), Config{Dir: dir}))(t, "a folder that bars", ErrBarred, barring+" bars the account", "--data")
	failed(os.Stat(filepath.Dir(dir)))(t, "a folder of the refused start", os.ErrNotExist)
}

func TestRefusesASecondStarter(t *testing.T) {
	t.Parallel()
	dir := cluster(t)
	process, ready := startDaemon(t, dir)
	ready()
	failed(Start(t.Context(), Config{Dir: dir}))(t, "a second starter", ErrInUse, fmt.Sprintf("process %d", process.Pid))
	kill(t, process)
	start(t, dir)
}

func TestSettingsOfTheCallerWin(t *testing.T) {
	t.Parallel()
	c := value(Start(t.Context(), Config{Dir: cluster(t), NoSync: true, Settings: map[string]string{"max_connections": "77"}}))(t)
	defer stop(t, c)
	equal(t, "max_connections is", ask[string](t, c, "SHOW max_connections"), "77")
}

func TestPicksTheVersion(t *testing.T) {
	t.Parallel()
	found := []Binaries{{"/a", "15.9", 15}, {"/b", "17.2", 17}, {"/c", "15.18", 15}, {"/d", "18beta1", 18}}
	for major, want := range map[int]string{0: "/d", 15: "/c", 17: "/b"} {
		equal(t, fmt.Sprintf("major %d", major), value(newest(found, major))(t).Dir, want)
	}
	for _, c := range []struct {
		found []Binaries
		major int
		want  error
	}{{found, 16, ErrVersion}, {nil, 16, ErrMissing}, {nil, 0, ErrMissing}, {[]Binaries{{"/a", "9.6.24", 9}}, 0, ErrMissing}} {
		failed(newest(c.found, c.major))(t, fmt.Sprintf("major %d of %v", c.major, c.found), c.want)
	}
	failed(newest(nil, 0))(t, "what to run", "`understudy doctor --fix`")
}

// TestBrokenServerIsNotMissing: an installed server that does not run is not reported as missing.
func TestBrokenServerIsNotMissing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, program := range []string{"initdb", "postgres"} {
		must(t, os.WriteFile(filepath.Join(dir, program), []byte("#!/bin/sh\nexit 3\n"), 0o700))
	}
	_, err := find(dir, account{}, 0)
	if err == nil || errors.Is(err, ErrMissing) || !strings.Contains(err.Error(), dir+"/postgres --version: exit status 3") {
		t.Errorf("error: %v", err)
	}
	failed(find(t.TempDir(), account{}, 0))(t, "an empty folder", ErrMissing)
}

// list returns the name and size of every file below dir.
func list(t *testing.T, dir string) []string {
	t.Helper()
	var all []string
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err == nil {
			all = append(all, fmt.Sprint(path, info.Mode(), info.Size(), info.ModTime()))
		}
		return err
	})
	must(t, err)
	return all
}
