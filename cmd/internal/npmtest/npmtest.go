// Package npmtest installs programs from the npm registry for tests: each in a pinned version, once per machine, into a
// cache that all tests share.
//
// Several processes may install the same program at once: one installs, the others wait for it. A process that is killed
// leaves an unfinished installation in the cache that nobody uses.
package npmtest

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/understudyd/understudy/daemon/runtimes"
)

// Program is a program that npm can give.
type Program struct {
	Name     string   // directory in the cache; it holds the version and the platform
	Packages []string // what npm installs, each with its version
	Flags    []string // further flags of npm install
	Keep     string   // the package whose directory is kept; "" keeps node_modules with all packages
	// Remove lists what no test needs of that directory, as patterns of path/filepath.
	Remove []string
	// Command returns the argv that runs the program installed in dir. Its first word is an absolute path.
	Command func(dir string) ([]string, error)
	Version string // the first or the last word that the program prints with --version
}

// VersionVariable begins the name of an environment variable with the version of one CLI that tests are to run in place of
// the pinned one: UNDERSTUDY_CLI_VERSION_claude=2.1.300. `just drift` sets it.
const VersionVariable = "UNDERSTUDY_CLI_VERSION_"

// Version returns the version of a CLI that the tests run: the pinned one, unless the CLI's variable names another.
func Version(cli, pinned string) string {
	return cmp.Or(os.Getenv(VersionVariable+cli), pinned)
}

// Versions asks the npm registry for the released versions of a package, oldest first, without those for previews and for
// single platforms, which have a suffix.
func Versions(pkg string) ([]string, error) {
	out, err := exec.Command("npm", "view", pkg, "versions", "--json", "--loglevel=error").Output()
	if err != nil {
		return nil, fmt.Errorf("versions of %s: %w", pkg, err)
	}
	var list []string
	if err := json.Unmarshal(out, &list); err != nil {
		return nil, fmt.Errorf("versions of %s: %w", pkg, err)
	}
	list = slices.DeleteFunc(list, func(v string) bool { return strings.Contains(v, "-") })
	slices.SortFunc(list, runtimes.CompareVersions)
	return list, nil
}

// Install returns the argv that runs the program. If the program is not in the cache yet, Install installs it. The error
// says what is missing. The installation may take a minute.
func Install(p Program) ([]string, error) {
	cache, err := Cache()
	if err != nil {
		return nil, err
	}
	home := filepath.Join(cache, p.Name)
	if argv, err := p.in(home); err == nil {
		return argv, nil
	}
	unlock, err := lock(home + ".lock")
	if err != nil {
		return nil, fmt.Errorf("cache for %s: %w", p.Name, err)
	}
	defer unlock()
	if argv, err := p.in(home); err == nil { // another process has installed it meanwhile
		return argv, nil
	}
	if err := p.install(cache, home); err != nil {
		return nil, err
	}
	return p.in(home)
}

// in returns the argv of the program in dir. A directory with its own name holds a program that has run: to ask all of them for their
// version again costs a process of tests 8 s of CPU.
func (p Program) in(dir string) ([]string, error) {
	if _, err := os.Stat(dir); err != nil {
		return nil, err
	}
	return p.Command(dir)
}

// install puts the program into home. Until the program has run once, it is in a directory of another name.
func (p Program) install(cache, home string) error {
	work, err := os.MkdirTemp(cache, "install-")
	if err != nil {
		return fmt.Errorf("cache for %s: %w", p.Name, err)
	}
	defer os.RemoveAll(work)
	if err := p.npm(work); err != nil {
		return err
	}
	fetched := work
	if p.Keep != "" {
		fetched = filepath.Join(work, "node_modules", filepath.FromSlash(p.Keep))
	}
	for _, pattern := range append([]string{"npm-cache"}, p.Remove...) {
		files, err := filepath.Glob(filepath.Join(fetched, filepath.FromSlash(pattern)))
		if err != nil {
			return fmt.Errorf("%s: pattern %s: %w", p.Name, pattern, err)
		}
		for _, file := range files {
			if err := os.RemoveAll(file); err != nil {
				return fmt.Errorf("cache for %s: %w", p.Name, err)
			}
		}
	}
	if _, err := p.check(fetched); err != nil {
		return fmt.Errorf("%s from npm: %w", strings.Join(p.Packages, " "), err)
	}
	if err := errors.Join(os.RemoveAll(home), os.Rename(fetched, home)); err != nil { // home holds a broken installation or nothing
		return fmt.Errorf("cache for %s: %w", p.Name, err)
	}
	return nil
}

func (p Program) npm(dir string) error {
	what := strings.Join(p.Packages, " ")
	npm, err := exec.LookPath("npm")
	if err != nil {
		return fmt.Errorf("the end-to-end tests install %s with npm, and there is no npm in PATH: install Node.js with npm", what)
	}
	// npm runs no scripts of the packages. Its cache is inside dir and removed with it, because it holds everything again.
	args := []string{"install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-save", "--loglevel=error",
		"--prefix", dir, "--cache", filepath.Join(dir, "npm-cache")}
	cmd := exec.Command(npm, append(append(args, p.Flags...), p.Packages...)...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("the end-to-end tests need %s from the npm registry, which could not be reached or does not have it (%w); check the network and `npm config get registry`:\n%s", what, err, out)
	}
	return nil
}

// check returns the argv if the program in dir runs and has the version.
func (p Program) check(dir string) ([]string, error) {
	argv, err := p.Command(dir)
	if err != nil {
		return nil, err
	}
	home, err := os.MkdirTemp("", "us") // some programs make files in their home even for this
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(home)
	cmd := exec.Command(argv[0], append(argv[1:len(argv):len(argv)], "--version")...)
	cmd.Env = append(os.Environ(), "HOME="+home)
	out, err := cmd.Output()
	if err != nil {
		var said []byte
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			said = exit.Stderr
		}
		return nil, fmt.Errorf("%s --version: %w: %s", strings.Join(argv, " "), err, said)
	}
	words := strings.FieldsFunc(string(out), func(r rune) bool { return r == ' ' || r == '/' || r == '\n' })
	if len(words) == 0 || words[0] != p.Version && words[len(words)-1] != p.Version {
		return nil, fmt.Errorf("%s --version: %q, not %s", strings.Join(argv, " "), strings.TrimSpace(string(out)), p.Version)
	}
	return argv, nil
}

// lock takes a lock that ends with the process, if not earlier.
func lock(path string) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		if err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX); !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return func() { _ = file.Close() }, nil
}

// Platform returns the operating system and the processor as most npm packages name them, such as linux and x64.
func Platform() (system, arch string, err error) { return platform(runtime.GOOS, runtime.GOARCH) }

func platform(goos, goarch string) (system, arch string, err error) {
	arch = map[string]string{"amd64": "x64", "arm64": "arm64"}[goarch]
	if arch == "" || (goos != "linux" && goos != "darwin") {
		return "", "", fmt.Errorf("no native packages of the CLIs for %s/%s: run these tests on Linux or macOS, amd64 or arm64", goos, goarch)
	}
	return goos, arch, nil
}

// Cache returns the directory for installed programs: $UNDERSTUDY_CACHE, else one below the user's cache directory, else
// one of our own below the temporary one. It is ours and nobody else can write to it.
func Cache() (string, error) { return cacheDir(os.Getenv, os.UserCacheDir) }

func cacheDir(getenv func(string) string, userCache func() (string, error)) (string, error) {
	dir := getenv("UNDERSTUDY_CACHE")
	if dir == "" {
		if user, err := userCache(); err == nil {
			dir = filepath.Join(user, "understudy")
		} else { // no HOME
			dir = filepath.Join(os.TempDir(), "understudy-cache-"+strconv.Itoa(os.Getuid()))
		}
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("cache directory: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("cache directory: %w: set UNDERSTUDY_CACHE to a directory that you may write to", err)
	}
	// The tests execute what is in this directory, and anybody can write to /tmp.
	info, err := os.Stat(dir)
	if err != nil {
		return "", fmt.Errorf("cache directory: %w", err)
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && int(st.Uid) != os.Getuid() {
		return "", fmt.Errorf("the cache directory %s belongs to another user: set UNDERSTUDY_CACHE to one of your own", dir)
	}
	return dir, nil
}
