package proc

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/understudyd/understudy/cmd/internal/child"
	"github.com/understudyd/understudy/daemon/runtimes/catalog"
)

// probeLimit is how long a runtime may take to print its version.
const probeLimit = 10 * time.Second

// Probe asks runtimes for their version. It asks each binary once, and asks again when the binary has changed on disk,
// so that it notices an upgrade while the daemon runs. It is safe for concurrent use.
type Probe struct {
	environ []string

	mu    sync.Mutex
	known map[string]string // versions, by the binary's path, size and time of change
}

// NewProbe makes a probe that looks for runtimes in the PATH of environ.
func NewProbe(environ []string) *Probe {
	return &Probe{environ: environ, known: map[string]string{}}
}

// Lookup returns an error that says why a runtime's command can't be run.
func (p *Probe) Lookup(command []string) error {
	bin, err := child.LookPath(command[0], p.environ)
	if err != nil {
		return err
	}
	if fi, err := os.Stat(bin); err != nil || !fi.Mode().IsRegular() || fi.Mode()&0o111 == 0 {
		return fmt.Errorf("%s is not a program: name another one in config.yaml (runtimes: command)", bin)
	}
	return nil
}

// Version runs a runtime's command with --version. If it cannot find out the version, it returns "", because a launch
// will report what is wrong with the command.
func (p *Probe) Version(ctx context.Context, command []string) string {
	if len(command) == 0 {
		return ""
	}
	bin, err := child.LookPath(command[0], p.environ)
	if err != nil {
		return ""
	}
	fi, err := os.Stat(bin)
	if err != nil {
		return ""
	}
	key := fmt.Sprintf("%s %d %d", strings.Join(append([]string{bin}, command[1:]...), "\x00"), fi.Size(), fi.ModTime().UnixNano())
	p.mu.Lock()
	version, ok := p.known[key]
	p.mu.Unlock()
	if ok {
		return version
	}
	if version, err = askVersion(ctx, bin, command[1:], p.environ); err != nil {
		return "" // do not keep the failure, so that the next call asks again
	}
	p.mu.Lock()
	p.known[key] = version
	p.mu.Unlock()
	return version
}

// AskVersion runs a runtime's command with --version. It looks for the command in this process's PATH.
func AskVersion(ctx context.Context, command []string) (string, error) {
	bin, err := exec.LookPath(command[0])
	if err != nil {
		return "", fmt.Errorf("%s is not in PATH", command[0])
	}
	version, err := askVersion(ctx, bin, command[1:], os.Environ())
	if err != nil {
		return "", fmt.Errorf("%s --version: %w", strings.Join(command, " "), err)
	}
	return version, nil
}

// askVersion runs bin, the binary of a runtime, with args, the fixed arguments of its command, and --version.
func askVersion(ctx context.Context, bin string, args, environ []string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, probeLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, bin, slices.Concat(args, []string{"--version"})...)
	cmd.Env = catalog.StripEnv(environ)
	cmd.WaitDelay = time.Second // a child of bin may keep the pipe open
	out, err := cmd.Output()
	if err != nil {
		return "", err
	}
	return versionLine(string(out)), nil
}

// versionLine returns the line of what a CLI prints for --version that has the version: some print advice or a warning around it. If no
// line looks like a version, it is the first one.
func versionLine(printed string) string {
	lines := strings.Split(strings.TrimSpace(printed), "\n")
	for _, line := range lines {
		if numbered().MatchString(line) {
			return strings.TrimSpace(line)
		}
	}
	return strings.TrimSpace(lines[0])
}

var numbered = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\d+\.\d+`) })
