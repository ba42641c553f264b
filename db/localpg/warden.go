package localpg

import (
	"fmt"
	"io"
	"os/exec"
	"syscall"
)

// wardenScript waits for the end of its standard input, which comes when our
// process ends in whatever way, then ends the server and removes the folder.
// It kills only a process whose command line carries the cluster's name.
//
// A pipe rather than Pdeathsig: that fires when the forking thread ends, it
// leaves the folder behind, and only Linux has it.
const wardenScript = `
read -r _
pid=$(head -n 1 "$1/data/postmaster.pid" 2>/dev/null)
if [ -n "$pid" ] && { cat "/proc/$pid/cmdline" 2>/dev/null || ps -ww -o args= -p "$pid"; } | grep -q "$2"; then
	kill -QUIT "$pid"
fi
tries=0
until rm -rf "$1" 2>/dev/null || [ $tries -ge 50 ]; do # somebody may still write
	sleep 0.1
	tries=$((tries + 1))
done
`

// warden sees to it that nothing of a temporary cluster outlives our process.
type warden struct {
	cmd   *exec.Cmd
	input io.Closer
}

func startWarden(dir, name string) (*warden, error) {
	cmd := exec.Command("/bin/sh", "-c", wardenScript, "understudy-warden", dir, name)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // a Ctrl-C is ours alone
	input, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("warden of %s: %w", dir, err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("warden of %s: %w", dir, err)
	}
	return &warden{cmd: cmd, input: input}, nil
}

// end has the warden do its work and waits for it.
func (w *warden) end() {
	w.input.Close()
	_ = w.cmd.Wait() // it did what it could
}
