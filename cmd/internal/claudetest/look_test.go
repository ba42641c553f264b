//go:build e2e

package claudetest_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
)

// look is a tmux client that captures the screen of the only pane again and again. A client for each capture would take
// more CPU than the CLI itself. The client uses the control mode: it has no size then and does not change the pane's.
type look struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func newLook(sock string) (*look, error) {
	cmd := exec.Command("tmux", "-u", "-S", sock, "-f", "/dev/null", "-C", "attach-session", "-f", "no-output")
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	l := &look{cmd, in, bufio.NewReader(out)}
	if _, err := l.answer(); err != nil { // the answer to attach-session
		return nil, errors.Join(err, l.close())
	}
	return l, nil
}

func (l *look) screen() (string, error) {
	if _, err := io.WriteString(l.in, "capture-pane -p\n"); err != nil {
		return "", err
	}
	return l.answer()
}

// answer returns the output of the next command, the lines between %begin and %end. It skips tmux's notifications, which
// come outside of them.
func (l *look) answer() (string, error) {
	var text strings.Builder
	begun := ""
	for {
		line, err := l.out.ReadString('\n')
		if err != nil {
			return "", err
		}
		mark, number, _ := strings.Cut(line, " ")
		switch {
		case begun == "" && mark == "%begin":
			begun = number
		case begun != "" && mark == "%end" && number == begun:
			return text.String(), nil
		case begun != "" && mark == "%error" && number == begun:
			return "", fmt.Errorf("tmux: %s", text.String())
		case begun != "":
			text.WriteString(line)
		}
	}
}

// close detaches the client and waits for its end.
func (l *look) close() error {
	return errors.Join(l.in.Close(), l.cmd.Wait())
}
