// Package warden ends what a process would leave behind when it is killed: folders, and the processes that
// were started for them.
//
// A warden is a process of its own. It waits for the end of its standard input, which comes when our process
// ends in whatever way; a pipe rather than Pdeathsig, which fires when the forking thread ends, leaves the folder
// behind, and is known to Linux only. Then it ends every process whose command line or environment names a path
// in one of its folders, first by SIGTERM, after a second by SIGKILL, and removes the folders. It ends no process
// by its number alone.
package warden

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
)

// script reads folders, one a line. PostgreSQL is asked for an immediate stop, in which it removes its shared memory:
// SIGTERM would wait for its sessions.
const script = `
dirs=
while read -r dir; do dirs="$dirs $dir"; done

using() { # prints the processes that name what is in the folder $1; grep itself gets the name from its input
	if [ -d /proc/self ]; then
		printf '%s/\n' "$1" | grep -lsF -f - /proc/[0-9]*/cmdline /proc/[0-9]*/environ | cut -d / -f 3 | sort -u
	else
		ps -axww -o pid= -o command= | W="$1/" awk 'index($0, ENVIRON["W"]) { print $1 }'
	fi
}

for dir in $dirs; do
	tries=0
	while [ -d "$dir" ] && [ $tries -lt 100 ]; do
		pids=$(using "$dir")
		for pid in $pids; do
			signal=TERM
			[ "$(cat "/proc/$pid/comm" 2>/dev/null)" = postgres ] && signal=QUIT
			[ $tries -ge 10 ] && signal=KILL
			kill -$signal "$pid" 2>/dev/null
		done
		[ -z "$pids" ] && rm -rf "$dir" 2>/dev/null && break
		sleep 0.1
		tries=$((tries + 1))
	done
done
`

// Warden is the process. Its methods may be called by any goroutine.
type Warden struct {
	cmd *exec.Cmd

	mu    sync.Mutex // keeps lines whole
	input io.WriteCloser
}

// Start starts a warden that watches nothing yet.
func Start() (*Warden, error) {
	w := &Warden{cmd: exec.Command("/bin/sh", "-c", script, "understudy-warden")}
	w.cmd.Dir = "/"
	w.cmd.Env = []string{"PATH=" + os.Getenv("PATH")}      // nothing in it by which another warden would end this one
	w.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // a Ctrl-C is ours alone
	var err error
	if w.input, err = w.cmd.StdinPipe(); err == nil {
		err = w.cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("warden: %w", err)
	}
	return w, nil
}

// odd reports whether the script could take a path with this character for something else.
func odd(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("._/+-", r)
}

// Watch has the warden end what uses the folder, and remove it. Whoever removes the folder first has nothing of
// it ended. The name must be one that nobody else's command line has by chance, as os.MkdirTemp makes it.
func (w *Warden) Watch(dir string) error {
	if dir = filepath.Clean(dir); !filepath.IsAbs(dir) || dir == filepath.Dir(dir) || strings.ContainsFunc(dir, odd) {
		return fmt.Errorf("warden: the folder %q must have an absolute path of letters, digits and ._+-", dir)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, err := fmt.Fprintln(w.input, dir); err != nil {
		return fmt.Errorf("warden of %s: %w", dir, err)
	}
	return nil
}

// End has the warden do its work, and waits for it.
func (w *Warden) End() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.input.Close()
	_ = w.cmd.Wait() // it did what it could
}
