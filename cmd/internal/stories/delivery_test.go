package stories

import (
	"context"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
)

// TestCommandThatIsDrawnLate: a busy runtime draws a pasted command after three seconds. Until Enter was pressed for it, an empty composer
// does not show that the command has left it.
func TestCommandThatIsDrawnLate(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.bendWith(&bend{paste: func(_ context.Context, _ string, do func() error) error {
			go func() {
				<-time.After(3 * time.Second)
				_ = do() // the story shows whether the text came
			}()
			return nil
		}})
		r.start()
		a := r.startAgent(con)
		dl, err := r.client.SendMessage(t.Context(), a.ID, "/clear", true)
		if err != nil {
			t.Fatal(err)
		}
		r.awaitVerdict(a.ID, dl.ID, daemon.Submitted)
		if now := r.getAgent(a.ID); *now.SessionID == *a.SessionID {
			t.Errorf("submitted although the command stands in the composer, or will:\n%s", r.shown(a.ID))
		}
	})
}
