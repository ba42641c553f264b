package commands

import (
	"bytes"
	"net"
	"strings"
	"testing"

	"github.com/understudyd/understudy/api"
	"github.com/understudyd/understudy/cmd/internal/cli"
	"github.com/understudyd/understudy/cmd/internal/serve"
	"github.com/understudyd/understudy/cmd/internal/service"
	"github.com/understudyd/understudy/data"
)

// TestServePrintsNoLinkIntoJournals: whoever reads what a service has printed must not get in by it.
func TestServePrintsNoLinkIntoJournals(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what string
		env  map[string]string
		link bool
	}{
		{"started by hand", nil, true},
		{"a terminal of macOS", map[string]string{"XPC_SERVICE_NAME": "0"}, true},
		{"systemd", map[string]string{"INVOCATION_ID": "0af3"}, false},
		{"systemd, output to the journal", map[string]string{"JOURNAL_STREAM": "8:1234"}, false},
		{"launchd", map[string]string{"XPC_SERVICE_NAME": service.LaunchLabel}, false},
	} {
		var stdout bytes.Buffer
		a := &app{&cli.App{Getenv: func(name string) string { return c.env[name] }, Stdout: &stdout}}
		made := 0
		up := &serve.Serving{Data: data.At("/srv/data"), Address: &net.TCPAddr{Port: 7433}, Dashboard: func() (api.DashboardLink, error) {
			made++
			return api.DashboardLink{URL: "http://127.0.0.1:7433/login?key=SECRET"}, nil
		}}
		a.printServing(up, "/srv/data")
		want := "\n  dashboard  run: understudy dashboard\n"
		if c.link {
			want = "\n  dashboard  http://127.0.0.1:7433/login?key=SECRET  ("
		}
		if (made == 1) != c.link || !strings.Contains(stdout.String(), want) || strings.Contains(stdout.String(), "SECRET") != c.link {
			t.Errorf("%s: %d links made, printed %s", c.what, made, &stdout)
		}
	}
}
