//go:build e2e

package stories

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/tmux"
	"github.com/understudyd/understudy/tmux/tmuxtest"
)

// TestOneAlertForAPersonsTmuxServer: A person may end agents one by one, but several at once are worth an alert.
func TestOneAlertForAPersonsTmuxServer(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	alone, several := tmuxtest.Server(t), tmuxtest.Server(t)
	first, _ := startForeignAgent(r, alone, "")
	var more []int64
	for i := range 2 {
		a := value(startAnother(r, several, fmt.Sprintf("person-%d", i)))(t)
		more = append(more, a.ID)
	}
	end := func(s *tmux.Server, ids ...int64) {
		must(t, syscall.Kill(tmuxServerPID(r, s), syscall.SIGKILL))
		for _, id := range ids {
			r.awaitState(id, daemon.Ended)
		}
	}
	end(alone, first.ID)
	end(several, more...)
	message := fmt.Sprint(field(t, awaitNotification(r, func(event.Event) bool { return true }), "message"))
	want := fmt.Sprintf("Open sessions again: agent %d, %d, by `understudy agent resume ID`.", min(more[0], more[1]), max(more[0], more[1]))
	if !strings.Contains(message, "and 2 agents with it: ") || strings.Contains(message, "next agent") {
		t.Errorf("the operator was told %q, want %q in it", message, want)
	}
	if told := messages(r, "operator_notified"); len(told) != 1 || len(r.agentEvents(first.ID, "agent_ended")) != 1 {
		t.Errorf("the operator was told %q, want one notification", told)
	}
}

// startAnother has a person start another agent on their tmux server.
func startAnother(r *rig, server *tmux.Server, session string) (daemon.Agent, error) {
	r.t.Helper()
	before := newestAgent(r).ID
	_, err := server.Spawn(r.t.Context(), tmux.Spec{
		Session: session, Dir: r.work, Argv: append(append([]string{"env"}, r.cfg.Environ...), r.cfg.Binary, "scripted-agent"),
	})
	if err != nil {
		return daemon.Agent{}, err
	}
	r.await("another agent that registers by itself", func() (bool, string) { return newestAgent(r).ID > before, "" })
	return newestAgent(r), nil
}

// tmuxServerPID is the process of a tmux server that has panes.
func tmuxServerPID(r *rig, s *tmux.Server) int {
	r.t.Helper()
	panes, err := s.List(context.Background())
	if err != nil || len(panes) == 0 {
		r.t.Fatalf("tmux: %d panes, %v", len(panes), err)
	}
	return panes[0].ServerPID
}

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
