package tmux_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/term"

	"github.com/understudyd/understudy/tmux"
	"github.com/understudyd/understudy/tmux/tmuxtest"
	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

// readerCommand makes the test binary the program of a pane; see readRaw.
const readerCommand = "read-raw"

func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == readerCommand {
		if err := readRaw(os.Args[2]); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if len(os.Args) == 3 && os.Args[1] == executesCommand {
		executes(os.Args[2])
	}
	os.Exit(wardentest.Run(m.Run))
}

// readRaw acts as an agent's program: its terminal is raw and it asks for bracketed paste. It sends each
// byte that it reads to a socket. It connects when tmux has seen its request.
func readRaw(socket string) error {
	if _, err := term.MakeRaw(int(os.Stdin.Fd())); err != nil {
		return err
	}
	fmt.Print("\x1b[?2004h\x1b[5n") // asks for brackets, and for a status: tmux answers that after it has read both
	if _, err := io.ReadFull(os.Stdin, make([]byte, len("\x1b[0n"))); err != nil {
		return err
	}
	conn, err := net.Dial("unix", socket)
	if err != nil {
		return err
	}
	_, err = io.Copy(conn, os.Stdin)
	return err
}

// reader is a pane with readRaw in it.
type reader struct {
	tmux.PaneInfo
	conn net.Conn
}

func newReader(tb testing.TB, s *tmux.Server, session string) reader {
	tb.Helper()
	socket := filepath.Join(shortDir(tb), "s")
	l := value(net.Listen("unix", socket))(tb)
	defer l.Close()
	exe := value(os.Executable())(tb)
	pane := made(tb, s, tmux.Spec{Session: session, Dir: "/", Argv: []string{exe, readerCommand, socket}})
	must(tb, l.(*net.UnixListener).SetDeadline(time.Now().Add(10*time.Second)))
	conn := value(l.Accept())(tb)
	tb.Cleanup(func() { _ = conn.Close() })
	return reader{pane, conn}
}

// expect reads what was typed and compares.
func (r reader) expect(tb testing.TB, want string) {
	tb.Helper()
	must(tb, r.conn.SetReadDeadline(time.Now().Add(10*time.Second)))
	got := make([]byte, len(want))
	n, err := io.ReadFull(r.conn, got)
	if err != nil || !bytes.Equal(got, []byte(want)) {
		tb.Fatalf("the program read %.200q (%d bytes), %v; want %.200q", got[:n], n, err, want)
	}
}

func bracketed(text string) string { return "\x1b[200~" + text + "\x1b[201~" }

func paste(tb testing.TB, s *tmux.Server, ref tmux.Ref, text string) {
	tb.Helper()
	must(tb, s.Paste(tb.Context(), ref, text, tmux.PasteOptions{}))
}

// command runs tmux itself, as people and other programs do.
func command(tb testing.TB, socket string, args ...string) string {
	tb.Helper()
	cmd := exec.CommandContext(tb.Context(), "tmux", append([]string{"-u", "-N", "-S", socket}, args...)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		tb.Fatalf("tmux %s: %v: %s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

func isGone(tb testing.TB, p tmux.Process) {
	tb.Helper()
	tmuxtest.Eventually(tb, fmt.Sprintf("process %d has ended", p.PID), func() bool { return !p.Alive() })
}

// made makes a pane.
func made(tb testing.TB, s *tmux.Server, spec tmux.Spec) tmux.PaneInfo {
	tb.Helper()
	return value(s.Spawn(tb.Context(), spec))(tb)
}

var must, equal, wantErr, holds, shortDir = wardentest.Must, wardentest.Equal, wardentest.WantErr, wardentest.Holds, wardentest.ShortDir

func value[T any](v T, err error) func(testing.TB) T { return wardentest.Value(v, err) }

func failed[T any](v T, err error) func(testing.TB, string, ...any) { return wardentest.Failed(v, err) }
