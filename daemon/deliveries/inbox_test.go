package deliveries

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/data"
	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

// TestInboxGivesATextOnce: a file that the agent has taken is not put again, and can't be taken back. One that the daemon
// has taken back is put again.
func TestInboxGivesATextOnce(t *testing.T) {
	t.Parallel()
	dir := wardentest.Value(data.Open(t.TempDir()))(t)
	d := testCourier(engine.Config{Data: dir})
	a := &daemon.Agent{ID: 7}
	path := filepath.Join(runtimes.Inbox(d.Data.Launch(7)), "3.json")
	put := func() {
		t.Helper()
		wardentest.Must(t, d.PutInInbox(a, "3", map[string]string{"text": "hello"}))
	}
	there := func() bool {
		b, err := os.ReadFile(path)
		return err == nil && string(b) == `{"text":"hello"}`
	}
	put()
	put() // as the next daemon does
	if !there() {
		t.Fatal("the text is not in the inbox")
	}
	if !d.TakeBack(a, "3") || there() {
		t.Error("the text was not taken back")
	}
	if !d.TakeBack(a, "3") { // the daemon was killed before it committed that
		t.Error("a text that was taken back counts as taken by the agent")
	}
	put()
	wardentest.Must(t, os.Rename(path, path+inboxTaken))
	if d.TakeBack(a, "3") {
		t.Error("a text that the agent has taken was taken back")
	}
	if put(); there() {
		t.Error("a text that the agent has taken was put again")
	}
}
