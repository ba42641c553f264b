package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/data"
)

// Some runtimes take a text in a better way than by their composer: their server, an inbox that our extension reads, or a
// command. Neither a person's draft nor a dialog is in the way of such a text, and it is never taken for a command. What is
// the same as for a typed text: the intention is committed first, and the runtime's report confirms the text.

// sendLimit is how long a runtime may take to accept a text.
const sendLimit = 10 * time.Second

// sentShown is how long after a text was sent the transcript shows it at the latest. After that, a text that the transcript
// lacks was not sent.
const sentShown = 2 * time.Second

// firstWay returns how a text is given to an agent. A command must be typed, because all other ways take it for a prompt.
func (d *Daemon) firstWay(a *daemon.Agent, dl *daemon.Delivery) runtimes.Way {
	ways := d.runtimeOf(a).Can.Ways
	if dl.Kind == daemon.KindCommand && slices.Contains(ways, runtimes.ByTyping) || len(ways) == 0 {
		return runtimes.ByTyping
	}
	return ways[0]
}

// wayAroundDraft returns another way for a text that cannot be typed because of a person's draft; "": there is none, or
// another reason why it cannot be typed.
func (d *Daemon) wayAroundDraft(a *daemon.Agent, dl *daemon.Delivery, why daemon.Hold) runtimes.Way {
	if rt := d.runtimeOf(a); why.Kind != daemon.HoldDraft || rt.Queue == nil || a.SessionID == nil || dl.Kind == daemon.KindCommand {
		return ""
	}
	return runtimes.ByQueue
}

// beginSending commits the intention to send a queued text and sends it, as soon as the agent is idle.
func (d *Daemon) beginSending(ctx context.Context, a *daemon.Agent, dl *daemon.Delivery, way runtimes.Way) (bool, time.Duration, error) {
	if !a.AtRest() || a.RegisteredAt == nil || a.StopAskedAt != nil {
		return false, time.Second, nil
	}
	if err := d.commitIntention(ctx, a, dl, way); err != nil || !dl.Open() {
		return err == nil, 0, err
	}
	d.memories.change(a.ID, func(m *agentMemory) { m.sent = dl.ID })
	return d.send(ctx, a, dl)
}

// send gives a text to the runtime; the intention is committed already.
func (d *Daemon) send(ctx context.Context, a *daemon.Agent, dl *daemon.Delivery) (bool, time.Duration, error) {
	if why, err := d.unwanted(ctx, a, dl); err != nil {
		return false, 0, err
	} else if why != "" {
		return d.decideByTranscript(ctx, a, dl, why)
	}
	if err := d.give(ctx, a, dl); err != nil {
		return false, 0, err
	}
	dl.State = daemon.DeliveryTyped
	return d.saveDelivery(ctx, a, dl, true)
}

// give gives the text of a delivery to the runtime by the delivery's way.
func (d *Daemon) give(ctx context.Context, a *daemon.Agent, dl *daemon.Delivery) error {
	ctx, cancel := context.WithTimeout(ctx, sendLimit)
	defer cancel()
	var err error
	switch dl.Way {
	case runtimes.ByInbox:
		if a.StartedWith(dl) {
			d.takeBack(a, runtimes.FirstInInbox) // this delivery repeats it
		}
		err = d.putInInbox(a, inboxName(dl), map[string]string{"text": dl.Text})
	case runtimes.ByServer:
		since := d.earliestShown(*dl.TypedAt)
		if d.memories.of(a.ID).sent != dl.ID {
			since = time.Time{} // an earlier daemon may have sent it, and the clock may have been set back since
		}
		began := time.Now()
		err = d.bySession(a, func(c Control) error { return c.Send(ctx, dl.Text, since) })
		noteAnswer(d, a, dl, began, err)
	case runtimes.ByQueue:
		err = d.queueText(ctx, a, dl.Text)
	default:
		err = fmt.Errorf("the way %q is not known", dl.Way)
	}
	if err != nil {
		return fmt.Errorf("delivery %d: %w", dl.ID, err)
	}
	return nil
}

// resumeSending continues a delivery whose text an earlier daemon, or an earlier attempt, may or may not have sent. A file in
// an inbox has the delivery's name, so that it is read once. For the other ways the transcript decides.
func (d *Daemon) resumeSending(ctx context.Context, a *daemon.Agent, dl *daemon.Delivery) (bool, time.Duration, error) {
	if a.StopAskedAt != nil {
		return false, time.Second, nil // the agent's end decides the delivery
	}
	spent := d.timeSpent(*dl.TypedAt)
	switch {
	case dl.Way == runtimes.ByInbox:
		return d.send(ctx, a, dl)
	case d.inTranscript(a, dl):
		dl.DecideBy(daemon.Submitted, daemon.EvidenceInTranscript, d.now())
		return d.saveDelivery(ctx, a, dl, false)
	case dl.Way == runtimes.ByEcho && d.lastEnter(a).delivery == dl.ID:
		return enteredByEcho(ctx, d, a, dl)
	case dl.Way == runtimes.ByEcho: // nobody knows what an Enter would do by now
		left := d.timeLeft(*dl.TypedAt, d.Settings().Handoff.AckTimeout)
		if left > 0 {
			return false, min(left, enterAfter), nil
		}
		return d.decideByTranscript(ctx, a, dl, daemon.EvidenceUnknownScreen)
	case dl.Way == runtimes.ByQueue: // it may still stand in the CLI's own queue, which nobody can read
		dl.State = daemon.DeliveryTyped
		return d.saveDelivery(ctx, a, dl, true)
	case spent < sentShown:
		return false, sentShown - spent, nil
	case timeLeftToShow(d, a, dl) <= 0:
		dl.Decide(daemon.Unconfirmed, "ack_timeout: it is not known whether it was sent"+silenceWords(d, a, dl), d.now())
		return d.saveDelivery(ctx, a, dl, false)
	}
	return d.send(ctx, a, dl)
}

// confirmSent waits until the runtime reports a text that was sent to it.
func (d *Daemon) confirmSent(ctx context.Context, a *daemon.Agent, dl *daemon.Delivery) (bool, time.Duration, error) {
	left := timeLeftToShow(d, a, dl)
	switch {
	case dl.Heard != 0:
		return decideHeard(ctx, d, a, dl, left)
	case d.inTranscript(a, dl):
		dl.DecideBy(daemon.Submitted, daemon.EvidenceInTranscript, d.now())
	case left > 0 && d.sendsAgain(a, dl):
		return false, min(left, sentShown), d.give(ctx, a, dl)
	case left > 0:
		return false, min(left, enterAfter), nil
	case dl.Way == runtimes.ByInbox && d.takeBack(a, inboxName(dl)):
		// Nobody can have acted on it: a turn runs that no report has begun, or a dialog is open.
		return d.requeue(ctx, a, dl, "the agent did not take it from its inbox")
	default:
		dl.Decide(daemon.Unconfirmed, "ack_timeout: neither a report nor the transcript shows it"+silenceWords(d, a, dl), d.now())
	}
	return d.saveDelivery(ctx, a, dl, false)
}

// sendsAgain reports whether a text that an idle agent has not taken is given to its server once more. A server may lose a
// text that comes while a turn ends; it ignores a text that it has.
func (d *Daemon) sendsAgain(a *daemon.Agent, dl *daemon.Delivery) bool {
	return dl.Way == runtimes.ByServer && a.State == daemon.Idle && a.StopAskedAt == nil && d.timeSpent(*dl.TypedAt) >= sentShown
}

// queueText gives a text to a session by the runtime's own command.
func (d *Daemon) queueText(ctx context.Context, a *daemon.Agent, text string) error {
	if a.SessionID == nil {
		return errors.New("the session is not known")
	}
	argv := d.runtimeOf(a).Queue(d.Settings().Runtimes[a.Runtime], *a.SessionID, text)
	res, err := d.OneShot(ctx, OneShot{Argv: argv, Dir: a.Cwd, Env: d.environOf(a)})
	if err == nil && res.Exit != 0 {
		err = fmt.Errorf("%s ended with status %d: %s", argv[0], res.Exit, lastLine(res.Stderr))
	}
	return err
}

// inboxName is the name of a delivery's file in an inbox.
func inboxName(dl *daemon.Delivery) string { return strconv.FormatInt(dl.ID, 10) }

// takeBack removes a file from the inbox of an agent, and reports whether the agent has not acted on it and never will: our
// extension renames a file first, and only one of the two can succeed.
func (d *Daemon) takeBack(a *daemon.Agent, name string) bool {
	path := filepath.Join(runtimes.Inbox(d.Data.Launch(a.ID)), name+".json")
	err := os.Remove(path)
	if errors.Is(err, fs.ErrNotExist) { // the agent has it, or an earlier daemon took it back
		_, err = os.Lstat(path + inboxTaken)
		return errors.Is(err, fs.ErrNotExist)
	}
	return err == nil
}

// inboxExit is the name of the file that asks an agent to exit.
const inboxExit = "exit"

// inboxTaken is the end of the name that our extension gives a file of an inbox before it acts on it.
const inboxTaken = ".taken"

// putInInbox puts a file into the inbox of an agent, unless the agent has taken a file of that name before.
func (d *Daemon) putInInbox(a *daemon.Agent, name string, content any) error {
	dir := runtimes.Inbox(d.Data.Launch(a.ID))
	path := filepath.Join(dir, name+".json")
	if _, err := os.Lstat(path + inboxTaken); err == nil {
		return nil
	}
	b, err := json.Marshal(content)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return data.WriteFile(path, b, 0o600)
}
