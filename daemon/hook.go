package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/words"
	"github.com/understudyd/understudy/hooks"
	"github.com/understudyd/understudy/tmux"
)

// Hook stores a hook and applies it to its agent. from is the process that sent it; nil: it came over TCP,
// where that is not known. Hook returns what the hook prints, which may be nothing. A hook with a key that
// is stored already is answered from its row.
func (d *Daemon) Hook(ctx context.Context, env hooks.Envelope, from *tmux.Peer) (json.RawMessage, error) {
	defer d.arriving.begin(env.Launch)()
	// The sender is looked at first: it may be ended while it waits for what was spooled.
	claim, err := d.claimOf(ctx, env, from, false)
	if err != nil {
		return nil, fmt.Errorf("hook %s %s: %w", env.Event, env.Key, err)
	}
	if err := d.replayBefore(ctx, env); err != nil {
		return nil, err
	}
	return d.applyHook(ctx, env, claim, false)
}

// warn tells the operator of something that belongs to no agent.
func (d *Daemon) warn(typ event.Type, message string) {
	if err := d.storeWarning(typ, message); err != nil {
		d.Log.Error("event not stored", "type", typ, "message", message, "error", err)
	}
}

func (d *Daemon) storeWarning(typ event.Type, message string) error {
	e := d.event(typ, nil, nil, map[string]any{"message": message})
	e.Alert = true
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return d.commit(ctx, &Change{Events: []*event.Event{e}})
}

// refuse answers a hook whose body can't be understood. The first of its kind is told to the
// operator: a newer runtime may send all of them so.
func (d *Daemon) refuse(hook string, err error) *Error {
	if d.first("refused " + hook) {
		d.warn(event.HookRefused, fmt.Sprintf("A %s hook was refused (%s): agents' states may be wrong; see with `understudy --version` whether there is a newer one.",
			words.FirstLine(hook, 64), words.TrimDot(words.FirstLine(err.Error(), 200))))
	}
	return &Error{Kind: KindInvalid, Code: CodeBadHook, Message: "The hook was refused: " + err.Error()}
}

// maxFirsts bounds what is remembered of what the operator was told. Who has been told of so many different things
// knows that something is wrong.
const maxFirsts = 200

// first reports whether something is to be told because it has not been told before.
func (d *Daemon) first(what string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.refused[what] || len(d.refused) >= maxFirsts {
		return false
	}
	d.refused[what] = true
	return true
}

// maxSession is the longest session id that is taken, in bytes. Real ones are UUIDs.
const maxSession = 200

func (d *Daemon) applyHook(ctx context.Context, env hooks.Envelope, c claim, replayed bool) (json.RawMessage, error) {
	p, err := hooks.Parse(env.Event, env.Body)
	if err == nil && len(p.SessionID) > maxSession {
		err = fmt.Errorf("session_id has %d bytes, more than the %d that are taken", len(p.SessionID), maxSession)
	}
	if err != nil {
		d.counts.hook(env.Event, HookRefused)
		return nil, d.refuse(env.Event, err)
	}
	in := HookInput{
		Key: env.Key, Event: p.Event, Host: d.Host, PID: env.AgentPID, SessionID: p.SessionID,
		Body: env.Body, At: env.At, Replayed: replayed,
	}
	if in.At.IsZero() {
		in.At = d.now()
	}
	in.At = in.At.UTC()
	if env.Launch != "" {
		in.LaunchHash = launchHash(env.Launch)
	}
	in.PIDStart = c.proc.Start
	step := hookStep{d: d, in: in, p: p, claim: c, command: d.isCommand(ctx, p, replayed)}
	if mayRegister(env) && c.bind == "" {
		step.pane, step.noPane = d.paneOf(ctx, env, c.proc)
		if step.around, err = d.agentAround(ctx, c.proc); err != nil {
			return nil, fmt.Errorf("hook %s %s: %w", env.Event, env.Key, err)
		}
	}
	decided, res, err := d.recordHook(ctx, step)
	if err != nil {
		return nil, fmt.Errorf("hook %s %s: %w", env.Event, env.Key, err)
	}
	d.counts.recorded(p.Event, res, &decided.out.Change)
	if !res.Applied {
		d.Log.Debug("hook stored, not applied", "event", p.Event, "hook_id", res.HookID, "reason", res.Reason)
	}
	if decided.disbelieved != "" && !res.Again {
		d.disbelieved(p.Event, decided.disbelieved)
	}
	if res.AgentID != 0 {
		d.Wake(res.AgentID)
	}
	if a := decided.tx.Agent; a != nil {
		d.wakeKin(a)
	}
	d.EventsChanged()
	if step.command && res.Applied && !res.Again {
		return d.answerCommand(ctx, res.AgentID, p.Prompt)
	}
	return res.Output, nil
}

// errUnseen has a hook's transaction undone until somebody has looked at the file that decide asks about.
var errUnseen = errors.New("a file must be looked at first")

// recordHook stores a hook with what follows from it, and returns the step as it was decided. Files that the
// decision asks about are looked at between two transactions: a file system that hangs must not hold row locks.
func (d *Daemon) recordHook(ctx context.Context, step hookStep) (decided hookStep, res HookResult, err error) {
	step.files = map[string]bool{}
	for {
		res, err = d.Store.RecordHook(ctx, step.in, func(tx HookTx) HookDecision {
			decided = step // the store may call this again
			decided.tx = tx
			out := decided.decide()
			if decided.unseen != "" {
				return HookDecision{Undone: errUnseen}
			}
			if tx.Agent != nil && out.Applied {
				d.outdate(tx.Agent.ID)
			}
			return out
		})
		if !errors.Is(err, errUnseen) {
			return decided, res, err
		}
		step.files[decided.unseen] = d.hasContent(ctx, decided.unseen)
	}
}

// mayRegister reports whether a hook can make an agent of a session that a person started.
func mayRegister(env hooks.Envelope) bool {
	return env.Launch == "" && (env.Event == hooks.SessionStart || env.Event == hooks.UserPromptSubmit)
}

// agentAround returns the active agent inside whose process a session runs, 0 for none: a
// "claude -p" that an agent starts is no agent of its own.
func (d *Daemon) agentAround(ctx context.Context, proc tmux.Process) (int64, error) {
	active, err := d.roster.agents(ctx)
	if err != nil {
		return 0, err
	}
	for i := range active {
		a := &active[i]
		if a.PID != 0 && a.PID != proc.PID && d.lives(a.Process()) && d.Processes.Within(proc, a.PID) &&
			(a.Managed || d.protected(ctx, a.Process()) == "") { // else all sessions would be inside it
			return a.ID, nil
		}
	}
	return 0, nil
}

const (
	// twinWithin is how far apart two runs of one hook begin at most: a runtime starts them together.
	twinWithin = 2 * time.Second
	// maxTwins is of how many hooks it is remembered that they came.
	maxTwins = 1000
)

// toldHook is what a hook says, and of whom.
type toldHook struct {
	agentID int64
	event   string
	body    string // its checksum
}

// hookRun is one run of a hook's command.
type hookRun struct {
	key string
	at  time.Time
}

// isTwin reports whether another run of the hook has told the same: a runtime runs the command once for each place of its
// settings that has it. Taken for two, a prompt would come again when its turn has begun, and a Stop would end the turn
// that the answer to the first one has begun. A run that fails after this comes again by itself, with its key.
func (d *Daemon) isTwin(agentID int64, in *HookInput) bool {
	told := toldHook{agentID, in.Event, checksum(in.Body)}
	d.mu.Lock()
	defer d.mu.Unlock()
	if first, known := d.told[told]; known && first.key != in.Key && in.At.Sub(first.at).Abs() <= twinWithin {
		return true
	}
	if d.told == nil || len(d.told) >= maxTwins {
		d.told = map[toldHook]hookRun{}
	}
	d.told[told] = hookRun{in.Key, in.At}
	return false
}

// underway counts the hooks that have come in and are not applied yet, by the hash of their launch secret. It is
// safe for concurrent use.
type underway struct {
	mu    sync.Mutex
	hooks map[string]int
}

// begin counts a hook until the returned function is called.
func (u *underway) begin(launch string) (end func()) {
	if launch == "" {
		return func() {}
	}
	key := string(launchHash(launch))
	u.add(key, 1)
	return func() { u.add(key, -1) }
}

func (u *underway) add(key string, n int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.hooks == nil {
		u.hooks = map[string]int{}
	}
	if u.hooks[key] += n; u.hooks[key] == 0 {
		delete(u.hooks, key)
	}
}

// of reports whether a hook of an agent is being applied.
func (u *underway) of(a *Agent) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.hooks[string(a.LaunchHash)] > 0
}
