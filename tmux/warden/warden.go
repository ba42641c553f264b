// Package warden ends what a process would leave when it is killed: the folders that it named, and the processes
// that use them.
//
// Any goroutine may call a [Warden]'s methods.
//
// A warden is a process of its own. It waits for the end of its standard input, which comes when our process
// ends, however it ends. (Pdeathsig would not do: it fires when the forking thread ends, does not remove the
// folder, and exists on Linux only.) Then it ends every process whose command line or environment names a path in
// one of its folders, first by SIGTERM, after a second by SIGKILL, and removes the folders. It never ends a process
// by a process id that it knew before.
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

// script reads folders, one per line. It sends PostgreSQL SIGQUIT, for an immediate stop in which PostgreSQL removes its
// shared memory: after SIGTERM it would wait for its sessions.
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

// Warden is a running warden.
type Warden struct {
	cmd *exec.Cmd

	mu    sync.Mutex // so that lines are written whole
	input io.WriteCloser
}

// Start starts a warden that watches no folder yet.
func Start() (*Warden, error) {
	w := &Warden{cmd: exec.Command("/bin/sh", "-c", script, "understudy-warden")}
	w.cmd.Dir = "/"
	w.cmd.Env = []string{"PATH=" + os.Getenv("PATH")}      // no path by which another warden would end this one
	w.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // a Ctrl-C must not reach it
	var err error
	if w.input, err = w.cmd.StdinPipe(); err == nil {
		err = w.cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("warden: %w", err)
	}
	return w, nil
}

// odd reports whether the script could misread a path with this character.
func odd(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("._/+-", r)
}

// Watch adds a folder: when the warden ends, it ends the processes that use the folder, and removes it. If the folder
// is gone by then, it ends none of them. No other command line may contain the folder's name by chance, so let
// os.MkdirTemp make it.
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

// End makes the warden do its work, and waits for that.
func (w *Warden) End() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.input.Close()
	_ = w.cmd.Wait() // its status does not matter
}
