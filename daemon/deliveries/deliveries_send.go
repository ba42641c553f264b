package deliveries

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
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/sight"
	"github.com/understudyd/understudy/data"
)

// Some runtimes take a text in a better way than by their composer: their server, an inbox that our extension reads, or a
// command. Neither a person's draft nor a dialog is in the way of such a text, and it is never taken for a command. What is
// the same as for a typed text: the intention is committed first, and the runtime's report confirms the text.

// SendLimit is how long a runtime may take to accept a text.
const SendLimit = 10 * time.Second

// sentShown is how long after a text was sent the transcript shows it at the latest. After that, a text that the transcript
// lacks was not sent.
const sentShown = 2 * time.Second

// firstWay returns how a text is given to an agent. A command must be typed, because all other ways take it for a prompt.
func (d *Courier) firstWay(a *daemon.Agent, dl *daemon.Delivery) runtimes.Way {
	ways := d.RuntimeOf(a).Can.Ways
	if dl.Kind == daemon.KindCommand && slices.Contains(ways, runtimes.ByTyping) || len(ways) == 0 {
		return runtimes.ByTyping
	}
	return ways[0]
}

// wayAroundDraft returns another way for a text that cannot be typed because of a person's draft; "": there is none, or
// another reason why it cannot be typed.
func (d *Courier) wayAroundDraft(a *daemon.Agent, dl *daemon.Delivery, why daemon.Hold) runtimes.Way {
	if rt := d.RuntimeOf(a); why.Kind != daemon.HoldDraft || rt.Queue == nil || a.SessionID == nil || dl.Kind == daemon.KindCommand {
		return ""
	}
	return runtimes.ByQueue
}

// beginSending commits the intention to send a queued text to an agent at rest and sends it.
func (d *Courier) beginSending(ctx context.Context, a *daemon.Agent, dl *daemon.Delivery, way runtimes.Way) (bool, time.Duration, error) {
	if err := d.commitIntention(ctx, a, dl, way); err != nil || !dl.Open() {
		return err == nil, 0, err
	}
	d.memories.Change(a.ID, func(m *courierMemory) { m.sent = dl.ID })
	return d.send(ctx, a, dl)
}

// send gives a text to the runtime; the intention is committed already.
func (d *Courier) send(ctx context.Context, a *daemon.Agent, dl *daemon.Delivery) (bool, time.Duration, error) {
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
func (d *Courier) give(ctx context.Context, a *daemon.Agent, dl *daemon.Delivery) error {
	ctx, cancel := context.WithTimeout(ctx, SendLimit)
	defer cancel()
	var err error
	switch dl.Way {
	case runtimes.ByInbox:
		err = d.PutInInbox(a, inboxName(dl), map[string]string{"text": dl.Text})
	case runtimes.ByServer:
		since := d.EarliestShown(*dl.TypedAt)
		if d.memories.Of(a.ID).sent != dl.ID {
			since = time.Time{} // an earlier daemon may have sent it, and the clock may have been set back since
		}
		began := time.Now()
		err = d.BySession(a, func(c engine.Control) error { return c.Send(ctx, dl.Text, since) })
		sight.NoteAnswer(d.Sight, a, dl, began, err)
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
func (d *Courier) resumeSending(ctx context.Context, a *daemon.Agent, dl *daemon.Delivery) (bool, time.Duration, error) {
	if a.StopAskedAt != nil {
		return false, time.Second, nil // the agent's end decides the delivery
	}
	spent := d.TimeSpent(*dl.TypedAt)
	switch {
	case dl.Way == runtimes.ByInbox:
		return d.send(ctx, a, dl)
	case d.InTranscript(a, dl):
		dl.DecideBy(daemon.Submitted, daemon.EvidenceInTranscript, d.Now())
		return d.saveDelivery(ctx, a, dl, false)
	case dl.Way == runtimes.ByEcho && d.lastEnter(a).delivery == dl.ID:
		return enteredByEcho(ctx, d, a, dl)
	case dl.Way == runtimes.ByEcho: // nobody knows what an Enter would do by now
		left := d.TimeLeft(*dl.TypedAt, d.Settings().Handoff.AckTimeout)
		if left > 0 {
			return false, min(left, EnterAfter), nil
		}
		return d.decideByTranscript(ctx, a, dl, daemon.EvidenceUnknownScreen)
	case dl.Way == runtimes.ByQueue: // it may still stand in the CLI's own queue, which nobody can read
		dl.State = daemon.DeliveryTyped
		return d.saveDelivery(ctx, a, dl, true)
	case spent < sentShown:
		return false, sentShown - spent, nil
	case sight.TimeLeftToShow(d.Sight, a, dl) <= 0:
		dl.Decide(daemon.Unconfirmed, "ack_timeout: it is not known whether it was sent"+sight.SilenceWords(d.Sight, a, dl), d.Now())
		return d.saveDelivery(ctx, a, dl, false)
	}
	return d.send(ctx, a, dl)
}

// confirmSent waits until the runtime reports a text that was sent to it.
func (d *Courier) confirmSent(ctx context.Context, a *daemon.Agent, dl *daemon.Delivery) (bool, time.Duration, error) {
	left := sight.TimeLeftToShow(d.Sight, a, dl)
	switch {
	case dl.Heard != 0:
		return decideHeard(ctx, d, a, dl, left)
	case d.InTranscript(a, dl):
		dl.DecideBy(daemon.Submitted, daemon.EvidenceInTranscript, d.Now())
	case left > 0 && d.sendsAgain(a, dl):
		return false, min(left, sentShown), d.give(ctx, a, dl)
	case left > 0:
		return false, min(left, EnterAfter), nil
	case dl.Way == runtimes.ByInbox && d.TakeBack(a, inboxName(dl)):
		// Nobody can have acted on it: a turn runs that no report has begun, or a dialog is open.
		return d.requeue(ctx, a, dl, "the agent did not take it from its inbox")
	default:
		dl.Decide(daemon.Unconfirmed, "ack_timeout: neither a report nor the transcript shows it"+sight.SilenceWords(d.Sight, a, dl), d.Now())
	}
	return d.saveDelivery(ctx, a, dl, false)
}

// sendsAgain reports whether a text that an idle agent has not taken is given to its server once more. A server may lose a
// text that comes while a turn ends; it ignores a text that it has.
func (d *Courier) sendsAgain(a *daemon.Agent, dl *daemon.Delivery) bool {
	return dl.Way == runtimes.ByServer && a.State == daemon.Idle && a.StopAskedAt == nil && d.TimeSpent(*dl.TypedAt) >= sentShown
}

// queueText gives a text to a session by the runtime's own command.
func (d *Courier) queueText(ctx context.Context, a *daemon.Agent, text string) error {
	if a.SessionID == nil {
		return errors.New("the session is not known")
	}
	argv := d.RuntimeOf(a).Queue(d.Settings().Runtimes[a.Runtime], *a.SessionID, text)
	res, err := d.OneShot(ctx, engine.OneShot{Argv: argv, Dir: a.Cwd, Env: d.EnvironOf(a)})
	if err == nil && res.Exit != 0 {
		err = fmt.Errorf("%s ended with status %d: %s", argv[0], res.Exit, sight.LastLine(res.Stderr))
	}
	return err
}

// inboxName is the name of a delivery's file in an inbox.
func inboxName(dl *daemon.Delivery) string { return strconv.FormatInt(dl.ID, 10) }

// TakeBack removes a file from the inbox of an agent, and reports whether the agent has not acted on it and never will: our
// extension renames a file first, and only one of the two can succeed.
func (d *Courier) TakeBack(a *daemon.Agent, name string) bool {
	path := filepath.Join(runtimes.Inbox(d.Data.Launch(a.ID)), name+".json")
	err := os.Remove(path)
	if errors.Is(err, fs.ErrNotExist) { // the agent has it, or an earlier daemon took it back
		_, err = os.Lstat(path + inboxTaken)
		return errors.Is(err, fs.ErrNotExist)
	}
	return err == nil
}

// InboxExit is the name of the file that asks an agent to exit.
const InboxExit = "exit"

// inboxTaken is the end of the name that our extension gives a file of an inbox before it acts on it.
const inboxTaken = ".taken"

// PutInInbox puts a file into the inbox of an agent, unless the agent has taken a file of that name before.
func (d *Courier) PutInInbox(a *daemon.Agent, name string, content any) error {
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
