package commands

import (
	"bytes"
	"io"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/understudyd/understudy/api"
	"github.com/understudyd/understudy/cmd/internal/cli"
	"github.com/understudyd/understudy/cmd/internal/serve"
	"github.com/understudyd/understudy/data"
)

// TestServePrintsALinkToATerminalOnly: whoever reads what the daemon has printed into a file or a journal must not get in by it.
func TestServePrintsALinkToATerminalOnly(t *testing.T) {
	t.Parallel()
	log := value(os.Create(filepath.Join(t.TempDir(), "serve.log")))(t)
	defer log.Close()
	read, pipe, err := os.Pipe()
	must(t, err)
	defer read.Close()
	defer pipe.Close()
	terminal := value(os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0))(t)
	defer terminal.Close()
	for _, c := range []struct {
		what string
		to   io.Writer
		env  map[string]string
		link bool
	}{
		{"a terminal", terminal, nil, true},
		{"a terminal of a desktop that systemd has started", terminal, map[string]string{"INVOCATION_ID": "0af3"}, true},
		{"a redirected log", log, nil, false},
		{"a pipe", pipe, nil, false},
		{"no file", &bytes.Buffer{}, nil, false},
		{"systemd, output to the journal", pipe, map[string]string{"JOURNAL_STREAM": "8:1234"}, false},
	} {
		a := &cli.App{Getenv: func(name string) string { return c.env[name] }, Stdout: c.to}
		made := 0
		up := &serve.Serving{Data: data.At("/srv/data"), Address: &net.TCPAddr{Port: 7433}, Dashboard: func() (api.DashboardLink, error) {
			made++
			return api.DashboardLink{URL: "http://127.0.0.1:7433/login?key=SECRET"}, nil
		}}
		want := "run: understudy dashboard"
		if c.link {
			want = "http://127.0.0.1:7433/login?key=SECRET  (opens it once, within an hour; then: understudy dashboard)"
		}
		if got := dashboardHint(a, up); got != want || (made == 1) != c.link {
			t.Errorf("%s: %d links made, says %q", c.what, made, got)
		}
	}
	var printed bytes.Buffer
	printServing(&cli.App{Stdout: &printed}, &serve.Serving{Data: data.At("/srv/data"), Address: &net.TCPAddr{Port: 7433}}, "/srv/data")
	holds(t, "printed", printed.String(), "\n  dashboard  run: understudy dashboard\n")
}
