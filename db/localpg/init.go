package localpg

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// initialise makes the cluster if there is none. It builds the cluster in an init-* folder and renames it at the end.
// So data/ either holds a complete cluster or does not exist.
func (c *Cluster) initialise(ctx context.Context) error {
	if _, err := os.Stat(filepath.Join(c.data, "PG_VERSION")); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if entries, err := os.ReadDir(c.data); len(entries) > 0 {
		return fmt.Errorf("%s holds files but no PostgreSQL cluster: move it away", c.data)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("PostgreSQL cluster: %w", err)
	}
	bin, err := find(c.config.BinDir, c.who, 0)
	if err != nil {
		return err
	}
	begun := time.Now()
	c.sweep(ctx)
	if err := c.build(ctx, bin); err != nil {
		return err
	}
	c.log.InfoContext(ctx, "postgres cluster made", "dir", c.data, "version", bin.Version,
		"took", time.Since(begun).Round(time.Millisecond))
	return nil
}

// sweep removes the init-* folders that interrupted starts left. An initdb that outlived its starter may still write
// into such a folder, so that its removal fails. The next start then tries again.
func (c *Cluster) sweep(ctx context.Context) {
	left, _ := filepath.Glob(filepath.Join(c.dir, "init-*")) // the only error is a bad pattern
	for _, dir := range left {
		if err := os.RemoveAll(dir); err != nil {
			c.log.WarnContext(ctx, "unfinished postgres cluster not removed", "dir", dir, "error", err)
		}
	}
}

func (c *Cluster) build(ctx context.Context, bin Binaries) error {
	builder, err := c.who.builder()
	if err != nil {
		return err
	}
	site, err := os.MkdirTemp(c.dir, "init-")
	if err != nil {
		return fmt.Errorf("PostgreSQL cluster: %w", err)
	}
	defer os.RemoveAll(site) // if this fails, the next start removes it
	workshop := filepath.Join(site, "workshop")
	if err := errors.Join(builder.folder(workshop), c.who.enter(site)); err != nil {
		return fmt.Errorf("PostgreSQL cluster: %w", err)
	}
	data := filepath.Join(workshop, "data")

	initdb := []string{"--pgdata=" + data, "--username=" + Owner, "--auth-local=peer", "--auth-host=reject",
		"--encoding=UTF8", "--locale=" + locale(), "--data-checksums", "--wal-segsize=4"}
	if c.config.NoSync {
		initdb = append(initdb, "--no-sync")
	}
	if err := tool(ctx, builder, workshop, nil, bin.Path("initdb"), initdb...); err != nil {
		return err
	}
	// Rename initdb's empty database: that takes 30 ms, and CREATE DATABASE takes 100 to 300. Do it in single-user
	// mode, so that no server ever answers without having the database.
	if err := c.single(ctx, bin, builder, data, "template1", "ALTER DATABASE postgres RENAME TO "+databaseName); err != nil {
		return err
	}
	if err := c.who.claim(data); err != nil {
		return fmt.Errorf("PostgreSQL cluster: %w", err)
	}
	if err := os.Rename(data, c.data); err != nil {
		return fmt.Errorf("PostgreSQL cluster: %w", err)
	}
	if c.config.NoSync {
		return nil
	}
	return syncFolder(c.dir)
}

// locale returns a locale that sorts by code point. In other locales the order of an index depends on the system's
// libraries, so an update of these libraries would damage the index. C.UTF-8 also knows the case of every letter, but
// macOS does not always have it.
func locale() string {
	if runtime.GOOS == "linux" {
		return "C.UTF-8"
	}
	return "C"
}

// single runs one SQL command in a database of a cluster without a server. who must have a name.
func (c *Cluster) single(ctx context.Context, bin Binaries, who account, data, database, sql string) error {
	args := append([]string{"--single", "-D", data, "-c", "exit_on_error=on"}, c.settings()...)
	line := strings.NewReader(strings.Join(strings.Fields(sql), " ") + "\n") // it ends a command at the end of a line
	return tool(ctx, who, data, line, bin.Path("postgres"), append(args, database)...)
}

// tool runs a program of PostgreSQL as an account and waits for its end. On Linux the program dies with this process.
func tool(ctx context.Context, who account, dir string, stdin io.Reader, path string, args ...string) error {
	// The thread that forks must outlive the child; see tie.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir, cmd.Env, cmd.Stdin = dir, environ(), stdin
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: who.credential(), Setpgid: true}
	tie(cmd.SysProcAttr)
	cmd.WaitDelay = 2 * time.Second // initdb's children may hold the output pipe after its end
	out, err := cmd.CombinedOutput()
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("%s: %w", filepath.Base(path), context.Cause(ctx))
	case err != nil:
		return fmt.Errorf("%s: %w: %s", filepath.Base(path), err, complaint(out))
	}
	return nil
}

// environ returns the complete environment of PostgreSQL's programs. It contains no PG* variables, because these change
// settings. It contains a time zone, so that the programs need not search for one.
func environ() []string {
	env := []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=" + locale(), "TZ=UTC"}
	if libraries, ok := os.LookupEnv("LD_LIBRARY_PATH"); ok {
		env = append(env, "LD_LIBRARY_PATH="+libraries)
	}
	return env
}

// complaint returns the first error in a program's output, with the line of its detail or hint. If there is no error, it
// returns the last line.
func complaint(out []byte) string {
	lines := strings.Split(string(bytes.TrimSpace(out)), "\n")
	for i, line := range lines {
		if !strings.Contains(line, "FATAL:") && !strings.Contains(line, "PANIC:") && !strings.Contains(line, "error:") {
			continue
		}
		if i+1 < len(lines) && (strings.Contains(lines[i+1], "DETAIL:") || strings.Contains(lines[i+1], "HINT:")) {
			return line + " " + strings.TrimSpace(lines[i+1])
		}
		return line
	}
	return lines[len(lines)-1]
}

func syncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	defer folder.Close()
	if err := folder.Sync(); err != nil {
		return fmt.Errorf("sync %s: %w", path, err)
	}
	return nil
}
