package localpg

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// oldestMajor is the oldest PostgreSQL release that its project still maintains.
const oldestMajor = 14

// placesOfBinaries are the folders outside PATH where packages put a server.
var placesOfBinaries = []string{
	"/usr/lib/postgresql/*/bin",                           // Debian, Ubuntu
	"/usr/pgsql-*/bin",                                    // Fedora, RHEL
	"/usr/libexec/postgresql*",                            // Alpine
	"/usr/local/pgsql/bin",                                // from source
	"/opt/homebrew/opt/postgresql*/bin",                   // Homebrew on Apple silicon
	"/usr/local/opt/postgresql*/bin",                      // Homebrew on Intel
	"/home/linuxbrew/.linuxbrew/opt/postgresql*/bin",      // Homebrew on Linux
	"/Applications/Postgres.app/Contents/Versions/*/bin/", // Postgres.app
}

// Binaries is one installed PostgreSQL server.
type Binaries struct {
	Dir     string // holds initdb and postgres, and mostly pg_dump and psql
	Version string // as the server prints it, "15.18"
	Major   int    // 15
}

// Path returns the path of the named program, such as "pg_dump".
func (b Binaries) Path(program string) string { return filepath.Join(b.Dir, program) }

// versionLimit is how long a server may take to print its version. It is long, so that FindBinaries does not miss the
// PostgreSQL of a busy machine.
const versionLimit = 30 * time.Second

// FindBinaries finds the newest PostgreSQL in PATH and in placesOfBinaries. If there is none, the error is ErrMissing,
// and its text names the command that installs PostgreSQL.
func FindBinaries() (Binaries, error) {
	return find("", account{}, 0)
}

// find picks one of the installed servers. If none fits, but some servers did not print their version, the error is
// about those servers.
func find(dir string, who account, major int) (Binaries, error) {
	found, silent := installed(dir, who)
	best, err := newest(found, major)
	if err != nil && silent != nil {
		return Binaries{}, fmt.Errorf("PostgreSQL does not run: %w", silent)
	}
	return best, err
}

// newest picks the highest version. If major is not 0, it considers only that major version.
func newest(found []Binaries, major int) (Binaries, error) {
	var best Binaries
	var others []string
	for _, b := range found {
		switch {
		case major != 0 && b.Major != major:
			others = append(others, b.Version)
		case best.Dir == "" || laterVersion(b.Version, best.Version):
			best = b
		}
	}
	switch {
	case best.Dir == "" && len(others) > 0:
		return Binaries{}, &refusal{ErrVersion, fmt.Sprintf(
			"the cluster was made by PostgreSQL %d and only %s is installed: install PostgreSQL %d again, or move the data with pg_upgrade; nothing was changed",
			major, strings.Join(others, ", "), major)}
	case best.Dir == "" && major != 0:
		return Binaries{}, &refusal{ErrMissing, fmt.Sprintf(
			"PostgreSQL %d, which made the cluster, was not found in PATH or in the usual places: install it again; nothing was changed", major)}
	case best.Dir == "":
		return Binaries{}, &refusal{ErrMissing,
			"PostgreSQL (initdb and postgres) was not found in PATH or in the usual places: run `understudy doctor --fix`"}
	case best.Major < oldestMajor:
		return Binaries{}, &refusal{ErrMissing, fmt.Sprintf(
			"PostgreSQL %s in %s is too old, %d or newer is needed: run `understudy doctor --fix`", best.Version, best.Dir, oldestMajor)}
	}
	return best, nil
}

// installed lists the servers that the account can run. It looks in dir or, if dir is empty, in PATH and in
// placesOfBinaries. silent is about the servers that did not print their version.
func installed(dir string, who account) (found []Binaries, silent error) {
	places := []string{dir}
	if dir == "" {
		places = filepath.SplitList(os.Getenv("PATH"))
		for _, pattern := range placesOfBinaries {
			match, _ := filepath.Glob(pattern) // the only error is a bad pattern
			places = append(places, match...)
		}
	}
	seen := map[string]bool{}
	for _, place := range places {
		// PATH may hold a link to the real folder. PostgreSQL finds its share/
		// folder relative to the real one.
		server, err := filepath.EvalSymlinks(filepath.Join(place, "postgres"))
		if err != nil || seen[server] || who.barredBy(filepath.Dir(server)) != "" {
			continue
		}
		seen[server] = true
		if !complete(filepath.Dir(server)) {
			continue
		}
		b, err := probe(filepath.Dir(server))
		if err != nil {
			silent = errors.Join(silent, err)
			continue
		}
		found = append(found, b)
	}
	return found, silent
}

// complete reports whether dir holds the programs of a server.
func complete(dir string) bool {
	for _, program := range []string{"initdb", "postgres"} {
		if info, err := os.Stat(filepath.Join(dir, program)); err != nil || info.Mode()&0o111 == 0 {
			return false
		}
	}
	return true
}

// probe asks the server in dir for its version.
func probe(dir string) (Binaries, error) {
	ctx, cancel := context.WithTimeoutCause(context.Background(), versionLimit, fmt.Errorf("no answer within %s", versionLimit))
	defer cancel()
	out, err := exec.CommandContext(ctx, filepath.Join(dir, "postgres"), "--version").Output()
	if err != nil {
		if late := context.Cause(ctx); late != nil {
			err = late
		}
		return Binaries{}, fmt.Errorf("%s/postgres --version: %w", dir, err)
	}
	// "postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)", "… 18beta1"
	fields := strings.Fields(string(out))
	if len(fields) < 3 {
		return Binaries{}, fmt.Errorf("%s/postgres --version: %q", dir, out)
	}
	b := Binaries{Dir: dir, Version: fields[2]}
	if b.Major = leadingNumber(b.Version); b.Major == 0 {
		return Binaries{}, fmt.Errorf("%s/postgres --version: %q", dir, out)
	}
	return b, nil
}

func laterVersion(a, b string) bool {
	majorA, minorA, _ := strings.Cut(a, ".")
	majorB, minorB, _ := strings.Cut(b, ".")
	if x, y := leadingNumber(majorA), leadingNumber(majorB); x != y {
		return x > y
	}
	return leadingNumber(minorA) > leadingNumber(minorB)
}

// leadingNumber returns 18 for "18beta1" and 0 for "devel".
func leadingNumber(s string) int {
	end := 0
	for end < len(s) && s[end] >= '0' && s[end] <= '9' {
		end++
	}
	n, _ := strconv.Atoi(s[:end])
	return n
}
