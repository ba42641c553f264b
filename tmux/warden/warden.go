// Package warden cleans up after a process that was killed: it removes the folders that the process gave to
// [Warden.Watch], and ends the processes that use these folders.
//
// Any goroutine may call a [Warden]'s methods.
//
// A warden is a process of its own. It waits for the end of its standard input. That input ends when our process
// ends, even if our process is killed. (Pdeathsig would not suffice: the kernel sends it when the forking thread ends,
// it does not remove the folder, and only Linux has it.) Then the warden takes one folder after the other. It ends
// every process whose command line names a path in the folder, or whose environment does (on Linux only): first
// with SIGTERM, after a second with SIGKILL. When no such process is left, it removes the folder; after ten seconds it
// gives up and leaves the folder. It looks for the processes before each signal, so it never uses an old process id.
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

// script reads folders, one per line. To PostgreSQL it sends SIGQUIT instead of SIGTERM, so that PostgreSQL stops at once
// and removes its shared memory. After SIGTERM PostgreSQL would wait for its sessions.
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

	mu    sync.Mutex // keeps concurrent calls from mixing their lines
	input io.WriteCloser
}

// Start starts a warden that watches no folder yet.
func Start() (*Warden, error) {
	w := &Warden{cmd: exec.Command("/bin/sh", "-c", script, "understudy-warden")}
	w.cmd.Dir = "/"
	w.cmd.Env = []string{"PATH=" + os.Getenv("PATH")}      // names no watched folder: else another warden would end this one
	w.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // so that a Ctrl-C does not reach the warden
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

// Watch adds a folder, which the warden will remove after it has ended the processes that use it. If the folder does not
// exist any more at that time, the warden ends no process. Let os.MkdirTemp make the folder, so that no command line
// contains its path by chance.
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

// End makes the warden clean up now, and returns when it has finished.
func (w *Warden) End() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.input.Close()
	_ = w.cmd.Wait() // ignore the warden's exit status
}
