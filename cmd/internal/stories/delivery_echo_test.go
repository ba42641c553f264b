package stories

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/tmux"
)

// TestUnknownScreenIsDeliveredToByEcho: A new version of the CLI draws a screen that the daemon does not know. A text is
// pasted, is seen on the screen, and only then submitted. The operator is told once.
func TestUnknownScreenIsDeliveredToByEcho(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.misbehave("strange-screen")
		r.start()
		a := r.startAgent("")
		for _, text := range []string{"carry on", "carry on, please", "carry on"} {
			dl := r.sendMessage(a.ID, text)
			r.awaitVerdict(a.ID, dl.ID, daemon.Submitted)
			r.awaitState(a.ID, daemon.Idle)
		}
		r.wantTold(a.ID, "carry on", "carry on, please", "carry on")
		told := r.eventsWhere(func(e event.Event) bool { return e.Type == event.AgentScreenUnknown })
		if len(told) != 1 || !told[0].Alert || !strings.Contains(string(told[0].Payload), "»") {
			t.Errorf("told of the unknown screen: %+v", told)
		}
	})
}

// TestAgentWithAnUnknownScreenIsHandedOver: the exit command is delivered by echo, too, so that a handoff does not wait for a
// composer that the daemon will never see.
func TestAgentWithAnUnknownScreenIsHandedOver(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.misbehave("strange-screen")
		r.start()
		a := r.startAgent(con)
		r.awaitVerdict(a.ID, r.sendMessage(a.ID, "carry on").ID, daemon.Submitted)
		r.awaitState(a.ID, daemon.Idle)
		h := r.awaitPhase(r.requestHandoff(a.ID), daemon.Completed)
		r.wantStopStages(a.ID, daemon.StopAsked)
		r.wantKinds(a.ID, daemon.KindMessage, daemon.KindInstruction, daemon.KindExit)
		r.wantTold(*h.SuccessorID, h.Ref)
	})
}

// TestTextThatIsNotEchoedIsUnconfirmed: Something that the daemon does not know, such as a dialog of a new version, swallows
// a pasted text, so Enter would answer it. Or the program has not read the text yet: then the Enter of a later text submits both.
func TestTextThatIsNotEchoedIsUnconfirmed(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.misbehave("strange-screen")
		var pressed atomic.Int64
		r.bendWith(&bend{
			paste: func(context.Context, string, func() error) error { return nil },
			keys:  func([]tmux.Key, func() error) error { pressed.Add(1); return nil },
		}).start()
		a := r.startAgent("")
		dl := r.sendMessage(a.ID, "carry on")
		got := r.awaitVerdict(a.ID, dl.ID, daemon.Unconfirmed)
		if !strings.Contains(got.Evidence, "Enter was not pressed") || pressed.Load() > 0 {
			t.Errorf("the verdict's evidence is %q, and %d keys were pressed", got.Evidence, pressed.Load())
		}
	})
}
