package tmux

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// The oldest supported version of tmux. It has new-session -E, copy-mode -q, -N and pane options, and is the oldest
// version on which the tests of this package ran.
const oldestMajor, oldestMinor = 3, 2

var versionNumber = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(\d+)\.(\d+)`) })

// versionTimeout is how long tmux may take to print its version. It is long, so that Check does not fail on a busy
// machine.
const versionTimeout = 30 * time.Second

// Check returns the version of the tmux command bin, such as "3.3a". An empty bin means "tmux". The error is ErrMissing
// or ErrTooOld, or it says that the command failed or did not answer.
func Check(ctx context.Context, bin string) (version string, err error) {
	if bin == "" {
		bin = "tmux"
	}
	ctx, cancel := withDeadline(ctx, versionTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, bin, "-V")
	cmd.Env = clientEnv()
	cmd.WaitDelay = killDelay
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s -V: %w", bin, runError(ctx, err, ""))
	}
	version = strings.TrimPrefix(strings.TrimSpace(string(out)), "tmux ")
	if tooOld(version) {
		return version, fmt.Errorf("%s is version %s: %w", bin, version, ErrTooOld)
	}
	return version, nil
}

// tooOld says whether a version is known to be too old. The number of a development version ("next-3.5") decides; a
// version without a number ("master") counts as new.
func tooOld(version string) bool {
	m := versionNumber().FindStringSubmatch(version)
	if m == nil || strings.HasPrefix(version, "openbsd-") { // OpenBSD numbers its tmux like its releases
		return false
	}
	major, err1 := strconv.Atoi(m[1])
	minor, err2 := strconv.Atoi(m[2])
	if errors.Join(err1, err2) != nil {
		return false
	}
	return major < oldestMajor || major == oldestMajor && minor < oldestMinor
}
