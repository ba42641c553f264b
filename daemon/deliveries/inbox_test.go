package deliveries

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/data"
)

// TestInboxGivesATextOnce: a file that the agent has taken is not put again, and can't be taken back. One that the daemon
// has taken back is put again.
func TestInboxGivesATextOnce(t *testing.T) {
	t.Parallel()
	dir, err := data.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	d := testCourier(engine.Config{Data: dir})
	a := &daemon.Agent{ID: 7}
	path := filepath.Join(runtimes.Inbox(d.Data.Launch(7)), "3.json")
	put := func() {
		t.Helper()
		if err := d.PutInInbox(a, "3", map[string]string{"text": "hello"}); err != nil {
			t.Fatal(err)
		}
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
	if err := os.Rename(path, path+inboxTaken); err != nil {
		t.Fatal(err)
	}
	if d.TakeBack(a, "3") {
		t.Error("a text that the agent has taken was taken back")
	}
	if put(); there() {
		t.Error("a text that the agent has taken was put again")
	}
}
