package understudy_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/house"
	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

var update = flag.Bool("update", false, "write the generated parts of the documents anew")

// TestDuties keeps the list in docs/architecture.md what the rooms register. After a change of a duty:
//
//	go test . -run TestDuties -update
func TestDuties(t *testing.T) {
	t.Parallel()
	var list strings.Builder
	names, place := map[string]bool{}, engine.Place(-1)
	for _, d := range engine.Duties(house.New(engine.Config{}).Daemon.Engine) {
		if d.Name == "" || d.Why == "" || d.When == nil || d.Do == nil || names[d.Name] || d.Place < place {
			t.Errorf("duty %q says not what it is, has no place, or is there twice", d.Name)
		}
		names[d.Name] = true
		if d.Place != place {
			place = d.Place
			fmt.Fprintf(&list, "- **%s**\n", place)
		}
		fmt.Fprintf(&list, "  - `%s`: %s\n", d.Name, d.Why)
	}
	generated(t, "docs/architecture.md", "duties", "go test . -run TestDuties -update", list.String())
}

// generated holds that a part of a document is what the code says, and writes it with -update.
func generated(t *testing.T, path, part, command, want string) {
	t.Helper()
	begin, end := "<!-- "+part+" -->\n", "<!-- /"+part+" -->\n"
	text := wardentest.Value(os.ReadFile(path))(t)
	before, rest, begins := strings.Cut(string(text), begin)
	was, after, ends := strings.Cut(rest, end)
	switch {
	case !begins || !ends:
		t.Fatalf("%s has no part %s", path, part)
	case *update:
		wardentest.Must(t, os.WriteFile(path, []byte(before+begin+want+end+after), 0o644))
	case was != want:
		t.Errorf("the %s in %s are not those of the code: run %s", part, path, command)
	}
}
