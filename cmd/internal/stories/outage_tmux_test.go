package stories

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/understudyd/understudy/daemon/event"
)

// TestMistakeInTheUsersTmuxFile: it shows when the server begins. The operator is told what to do, and the agent works.
func TestMistakeInTheUsersTmuxFile(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	file := filepath.Join(r.work, "tmux.conf")
	writeFile(r, file, "set -g no-such-option 1\n")
	r.cfg.Settings.Tmux.Include = file
	r.start()
	r.startAgent(con)
	told := awaitNotification(r, func(e event.Event) bool {
		text, _ := field(t, e, "message").(string)
		return strings.Contains(text, "tmux.include: ") && strings.Contains(text, "no-such-option") && strings.Contains(text, "source-file "+file)
	})
	if awaitAlertEvent(r, "settings_refused"); told.ID == 0 {
		t.Error("nobody was told")
	}
}
