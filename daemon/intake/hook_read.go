package intake

import (
	"fmt"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/runtimes/claude"
	"github.com/understudyd/understudy/daemon/words"
	"github.com/understudyd/understudy/hooks"
)

// readHook returns the runtime whose hook it is, and what the hook says in the daemon's words, in which it also puts env. p.Event is "" if the
// daemon does not act on such hooks.
func readHook(s *engine.Settings, env *hooks.Envelope) (rt *runtimes.Runtime, p hooks.Payload, err error) {
	rt = claude.Runtime
	if env.Runtime != "" {
		if rt, err = s.RuntimeNamed(env.Runtime); err != nil {
			return nil, p, err
		}
	}
	if rt.Report != nil {
		said, err := rt.Report(env.Event, env.Body)
		if err != nil || said.Event == "" {
			return rt, p, err
		}
		env.Event, env.Body = said.Event, said.Body
	}
	p, err = hooks.Parse(env.Event, env.Body)
	if err == nil && len(p.SessionID) > maxSession {
		err = fmt.Errorf("session_id has %d bytes, more than the %d that are taken", len(p.SessionID), maxSession)
	}
	return rt, p, err
}

// refuse answers a hook whose body can't be parsed. It tells the operator of the first one of each event, since a newer
// runtime may send all of them like that.
func (d *Daemon) refuse(hook string, err error) *daemon.Error {
	if d.FirstTime("refused " + hook) {
		d.Alert(event.HookRefused, fmt.Sprintf("A %s hook was refused (%s): agents' states may be wrong; see with `understudy --version` whether there is a newer one.",
			words.FirstLine(hook, 64), words.TrimDot(words.FirstLine(err.Error(), 200))))
	}
	return &daemon.Error{Kind: daemon.KindInvalid, Code: daemon.CodeBadHook, Message: "The hook was refused: " + err.Error()}
}

// maxSession is the longest session id that a hook may name, in bytes. Claude Code's are UUIDs.
const maxSession = 200
