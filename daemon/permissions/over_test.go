package permissions

import (
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

// TestPermissionIsOpenWhileItsDialogStands: what hooks tell of the agent says nothing of a sub-agent's dialog. Where there is a
// registry, it decides.
func TestPermissionIsOpenWhileItsDialogStands(t *testing.T) {
	t.Parallel()
	waiting, busy := runtimes.StatusWaiting, runtimes.StatusBusy
	for name, tt := range map[string]struct {
		signs dialogSigns
		state daemon.PermissionState
	}{
		"the agent's own turn has ended":       {dialogSigns{known: true, status: waiting, shown: true, moved: true, asked: time.Hour}, ""},
		"the same, before the registry says":   {dialogSigns{known: true, status: busy, moved: true, asked: time.Second}, ""},
		"the dialog was there and is gone":     {dialogSigns{known: true, status: busy, shown: true, asked: time.Second}, daemon.PermissionPane},
		"it was answered between two looks":    {dialogSigns{known: true, status: busy, moved: true, asked: dialogShows}, daemon.PermissionPane},
		"the registry is slow":                 {dialogSigns{known: true, status: busy, asked: time.Hour}, ""},
		"the dialog of another stands instead": {dialogSigns{known: true, status: waiting, shown: true, other: true}, daemon.PermissionPane},
		"no registry, the agent went on":       {dialogSigns{moved: true}, daemon.PermissionPane},
		"no registry":                          {dialogSigns{asked: time.Hour}, ""},
		"the agent has ended":                  {dialogSigns{ended: true, known: true, status: waiting}, daemon.PermissionPane},
		"answered while nobody looked":         {dialogSigns{late: true, known: true, status: busy, moved: true, asked: time.Hour}, daemon.PermissionPane},
		"nobody has answered":                  {dialogSigns{late: true, known: true, status: waiting}, daemon.PermissionUnanswered},
	} {
		if state, note := tt.signs.over(); state != tt.state || (state != "") != (note != "") {
			t.Errorf("%s: %q %q", name, state, note)
		}
	}
}

// TestDialogTellsWhichPermissionStands: of several permissions that are open, the pane shows one, broken to its width.
func TestDialogTellsWhichPermissionStands(t *testing.T) {
	t.Parallel()
	shown := "Bash command · from the general-purpose agent\n  go test ./... -run\n  TestAll -count 1\nDo you want to proceed?"
	for subject, want := range map[string]bool{"go test ./... -run TestAll -count 1": true, "go test ./... -run TestOther": false, "": false} {
		wardentest.Equal(t, subject, asks(shown, &daemon.Permission{Subject: subject}), want)
	}
}
