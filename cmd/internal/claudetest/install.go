package claudetest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// Version is the version of the CLI to which the tests are pinned. The golden screens under daemon/runtimes/testdata and
// the recording of its hooks in hooks/hookstest come from the same version: after a change here, run
//
//	go test -tags e2e ./cmd/internal/claudetest -run 'TestScreens|TestHooks' -update
const Version = "2.1.329"

var installed = sync.OnceValues(install)

// Install returns the absolute path of the pinned CLI. The first call on a machine installs it from the npm registry (one
// native binary, about 380 MB) into the cache: $UNDERSTUDY_CACHE, else the user's cache directory, else a directory of our
// own below the temporary one. The test fails if the CLI is not cached and cannot be installed.
func Install(t testing.TB) string {
	t.Helper()
	path, err := installed()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// install may run in several processes at once: each installs into a directory of its own, and one rename wins.
func install() (string, error) {
	platform, err := npmPlatform(runtime.GOOS, runtime.GOARCH)
	if err != nil {
		return "", err
	}
	cache, err := cacheDir(os.Getenv, os.UserCacheDir)
	if err != nil {
		return "", err
	}
	home := filepath.Join(cache, "claude-code-"+platform+"-"+Version)
	cli := filepath.Join(home, "claude")
	if checkVersion(cli) == nil {
		return cli, nil
	}

	work, err := os.MkdirTemp(cache, "install-")
	if err != nil {
		return "", fmt.Errorf("cache for the Claude Code CLI: %w", err)
	}
	defer os.RemoveAll(work)
	pkg := "@anthropic-ai/claude-code-" + platform
	if err := npmInstall(work, pkg+"@"+Version); err != nil {
		return "", err
	}
	fetched := filepath.Join(work, "node_modules", filepath.FromSlash(pkg))
	if err := checkVersion(filepath.Join(fetched, "claude")); err != nil {
		return "", fmt.Errorf("%s@%s from npm: %w", pkg, Version, err)
	}
	if err := os.Rename(fetched, home); err != nil {
		// Another process was first, or a broken installation is in the way.
		if checkVersion(cli) == nil {
			return cli, nil
		}
		if err := errors.Join(os.RemoveAll(home), os.Rename(fetched, home)); err != nil {
			return "", fmt.Errorf("cache for the Claude Code CLI: %w", err)
		}
	}
	return cli, nil
}

func npmPlatform(goos, goarch string) (string, error) {
	arch := map[string]string{"amd64": "x64", "arm64": "arm64"}[goarch]
	if arch == "" || (goos != "linux" && goos != "darwin") {
		return "", fmt.Errorf("no native package of Claude Code for %s/%s: run these tests on Linux or macOS, amd64 or arm64", goos, goarch)
	}
	return goos + "-" + arch, nil
}

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

func npmInstall(dir, pkg string) error {
	npm, err := exec.LookPath("npm")
	if err != nil {
		return fmt.Errorf("the end-to-end tests install %s with npm, and there is no npm in PATH: install Node.js with npm", pkg)
	}
	// npm runs no scripts of the package. Its cache is inside dir and removed with it, because it holds the 380 MB again.
	cmd := exec.Command(npm, "install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-save",
		"--loglevel=error", "--prefix", dir, "--cache", filepath.Join(dir, "npm-cache"), pkg)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("the end-to-end tests need %s from the npm registry, which could not be reached or does not have it (%w); check the network and `npm config get registry`:\n%s", pkg, err, out)
	}
	return nil
}

func checkVersion(cli string) error {
	if _, err := os.Stat(cli); errors.Is(err, fs.ErrNotExist) {
		return err
	}
	out, err := exec.Command(cli, "--version").Output()
	if err != nil {
		return fmt.Errorf("%s --version: %w", cli, err)
	}
	if got, _, _ := strings.Cut(string(out), " "); got != Version {
		return fmt.Errorf("%s --version: %q, not %s", cli, strings.TrimSpace(string(out)), Version)
	}
	return nil
}
