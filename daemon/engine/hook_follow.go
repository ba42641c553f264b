package engine

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/hooks"
)

// A session may move to another directory: Claude Code's by EnterWorktree, ExitWorktree and /cd. It takes its transcript
// along. The agent's row follows what the hooks of that very session say, so that its successor begins where the work is.

// move is what a hook says about the directory of a session.
type move struct{ from, to string }

// leadsElsewhere reports whether the session has moved: to is a directory, and not from by another name.
func (m move) leadsElsewhere() bool {
	to, err := os.Stat(m.to)
	if err != nil || !to.IsDir() {
		return false
	}
	from, err := os.Stat(m.from)
	return err != nil || !os.SameFile(from, to)
}

// follow notes where the session and its transcript are, if the hook is one of the agent's own session. A sub-agent may work
// in a directory of its own. was is the transcript before the hook; nil: none was known.
func (h *hookStep) follow(was *string) {
	a := h.tx.Agent
	if h.p.AgentID != "" || a.SessionID == nil || a.TranscriptPath == nil || h.p.SessionID != *a.SessionID || h.p.TranscriptPath == "" {
		return
	}
	rt, before := h.runtimeOf(a), *cmp.Or(was, a.TranscriptPath)
	late := a.EndHint != "" && h.p.Event != hooks.SessionEnd // a SessionEnd that overtook the hook has told where the transcript is now
	moves := rt.TranscriptMoved(before, h.p.TranscriptPath, h.p.SessionID)
	if moves && !late {
		a.SetSession(hooks.Payload{TranscriptPath: h.p.TranscriptPath})
	}
	if !moves && *a.TranscriptPath != h.p.TranscriptPath || goesBack(&h.p) {
		return
	}
	m := move{from: a.Cwd, to: rt.SessionDir(h.p.CWD, h.p.TranscriptPath, before, h.beginsSession())}
	if late && m.to == "" {
		m.to = endedIn(rt, a, &h.p)
	}
	if m.to == "" || m.to == m.from {
		return
	}
	if h.ask(question{move: m}).yes {
		a.MoveTo(m.to)
		h.moved = true
		h.event(event.AgentMoved, map[string]any{"from": m.from, "to": m.to}, a)
	}
}

// openTranscript opens the transcript of a session. If it is not at path, the session may have moved a moment ago: no hook tells of a
// person's /cd, and a hook that tells of a move may be in the spool. Its file then has the same name in another project's folder.
func openTranscript(path string) (*os.File, error) {
	const how = os.O_RDONLY | syscall.O_NONBLOCK // opening a pipe would wait for its writer
	f, err := os.OpenFile(path, how, 0)
	dir := runtimes.ConfigDirOfTranscript(path)
	if !errors.Is(err, fs.ErrNotExist) || dir == "" {
		return f, err
	}
	found, _ := fs.Glob(os.DirFS(dir), "projects/*/"+filepath.Base(path)) // the name is that of a session: it has no pattern
	if len(found) != 1 {
		return nil, err
	}
	return os.OpenFile(filepath.Join(dir, found[0]), how, 0)
}

// goesBack reports whether a hook tells where the transcript is, but not where the work is: before the SessionEnd of an /exit Claude Code
// has taken the session and its transcript back to where it began. A session that a signal ends stays where it works, and its SessionEnd
// may be the first hook to tell of a move, or overtake the one that does (measured with 2.1.330).
func goesBack(p *hooks.Payload) bool { return p.Event == hooks.SessionEnd && p.Reason != "other" }

// endedIn returns where a session worked at last whose SessionEnd overtook the hook of its last turn's end; "": the hook does not tell. The
// SessionEnd has taken the transcript back to where the session began. If the last turn had moved there, the folder of the transcript is the
// same in both hooks, but it is not that of the row's directory. A session that was opened again in a work tree has the transcript elsewhere
// at any time: its directory is between the folder's and the shell's.
func endedIn(rt *runtimes.Runtime, a *daemon.Agent, p *hooks.Payload) string {
	dir := rt.SessionDir(p.CWD, p.TranscriptPath, "", false)
	lastTurn := (p.Event == "Stop" || p.Event == "StopFailure") && (p.PromptID == "" || p.PromptID == a.TurnPromptID)
	between := daemon.Within(a.Cwd, dir) && daemon.Within(p.CWD, a.Cwd)
	if dir == "" || !lastTurn || between || rt.TranscriptIn(dir, p.TranscriptPath) != p.TranscriptPath || rt.TranscriptIn(a.Cwd, p.TranscriptPath) == p.TranscriptPath {
		return ""
	}
	return dir
}

// beginsSession reports whether the runtime's session begins with the hook, or is opened again. Its shell has gone nowhere yet.
func (h *hookStep) beginsSession() bool {
	return h.p.Event == hooks.SessionStart && (h.p.Source == "startup" || h.p.Source == "resume")
}
