package tmux_test

import (
	"strings"
	"testing"

	"github.com/understudyd/understudy/tmux"
	"github.com/understudyd/understudy/tmux/tmuxtest"
)

// TestShowMessageReachesWhoeverLooksAtThePane shows a text to a real client. A client that looks at another pane does not get
// it, and tmux expands nothing in it.
func TestShowMessageReachesWhoeverLooksAtThePane(t *testing.T) {
	t.Parallel()
	server := tmuxtest.Server(t)
	pane, other := spawn(t, server, "mine").Ref, spawn(t, server, "other").Ref
	const text = "Handoff 12: 100 % of #{session_name} #(id) %Y; goes on"
	equal(t, "nobody is attached", value(server.ShowMessage(t.Context(), pane, text))(t), 0)
	looks, elsewhere := watched(t, pane.Socket, "mine"), watched(t, pane.Socket, "other")
	tmuxtest.Eventually(t, "the client shows the text", func() bool {
		n, err := server.ShowMessage(t.Context(), pane, text)
		return err == nil && n == 1 && strings.Contains(looks(), text)
	})
	if strings.Contains(elsewhere(), "Handoff") {
		t.Errorf("a client at pane %s shows\n%s", other, elsewhere())
	}
	gone := pane
	gone.ServerStart++
	equal(t, "a pane of an earlier server", value(server.ShowMessage(t.Context(), gone, text))(t), 0)
}

// TestShowMessageStopsNoPane: what the program in the pane draws during the message is shown, although nobody presses a key.
func TestShowMessageStopsNoPane(t *testing.T) {
	t.Parallel()
	server := tmuxtest.Server(t)
	pane := spawn(t, server, "mine").Ref
	looks := watched(t, pane.Socket, "mine")
	tmuxtest.Eventually(t, "the client shows the text", func() bool {
		n, err := server.ShowMessage(t.Context(), pane, "Handoff 12 has failed")
		return err == nil && n == 1 && strings.Contains(looks(), "Handoff 12")
	})
	must(t, server.Paste(t.Context(), pane, "drawn during the message", tmux.PasteOptions{}))
	tmuxtest.Eventually(t, "the client shows what was drawn", func() bool { return strings.Contains(looks(), "drawn during the message") })
}

// watched attaches a client to a session, and returns what its terminal got.
func watched(t *testing.T, socket, session string) (got func() string) {
	t.Helper()
	return attach(t, socket, 100, 20, []string{"attach-session", "-t", "=" + session}).got
}
