package hooks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// HoldTimeout is how long the daemon may hold a hook. The CLI shows meanwhile that the hook runs, and that Esc interrupts
// it. The hook's timeout in the settings is longer.
const HoldTimeout = 55 * time.Minute

// The header fields of a hook that the daemon may hold.
const (
	HoldsHeader = "X-Hook-Holds"            // of the request: the hook's command waits as long as HoldTimeout
	HeldHeader  = "X-Understudy-Handoff"    // of the informational answer: the id of the handoff for which the hook is held
	AskedHeader = "X-Understudy-Permission" // of the informational answer: the id of the permission for which the hook is held
)

const (
	holdsFlag    = "--holds"
	handoffField = "understudy_handoff"

	// rejoinWithin is how long a held hook tries to reach the daemon again. A daemon that is replaced is away for seconds.
	rejoinWithin = 30 * time.Second
	rejoinEvery  = 200 * time.Millisecond
)

// holding returns the flag with which the settings say that the CLI lets the hook of this event run for so long.
func holding(event string) []string {
	if event == UserPromptSubmit || event == PermissionRequest {
		return []string{holdsFlag}
	}
	return nil
}

// errInterrupted is why a held hook ends without an answer. Claude Code sends its hooks SIGTERM after Esc, and SIGKILL some
// 1.4 s later (seen with 2.1.330).
var errInterrupted = errors.New("the CLI has ended the hook")

// sendHeld delivers an event whose answer the daemon may hold. While it is held and the daemon goes away, sendHeld sends
// the event again with the same key, which joins what the first one began. If the CLI ends the hook meanwhile, sendHeld
// reports [Interrupted]. Its error becomes the one line on stderr.
func sendHeld(socket string, e Envelope, stdout io.Writer) error {
	e.Holds = true
	signalled, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	defer stop()
	var id int64
	answer, err := SendHeld(signalled, socket, e, func(held int64) { id = held })
	switch {
	case id == 0:
		return deliver(socket, e, answer, err, stdout)
	case e.Event == PermissionRequest:
		_, _ = stdout.Write(answer) // after an error there is none, and the dialog in the pane decides; the daemon has the event
		return nil
	case errors.Is(err, errInterrupted):
		told := Interrupted(e, id, time.Now())
		ctx, cancel := context.WithTimeout(context.Background(), interruptWithin)
		defer cancel()
		answer, err := Send(ctx, socket, told)
		return deliver(socket, told, answer, err, io.Discard)
	case err != nil: // the daemon has the event, so the prompt must not begin a turn now
		answer, err = json.Marshal(map[string]any{
			"decision": "block",
			"reason": fmt.Sprintf("Handoff %d has begun, and the daemon does not answer any more (%v): it goes on when the daemon runs again, see `understudy handoff show %[1]d`.",
				id, err),
			"hookSpecificOutput": map[string]any{"hookEventName": e.Event, "suppressOriginalPrompt": true},
		})
	}
	if err == nil {
		_, _ = stdout.Write(answer) // ignore the error: the CLI has ended
	}
	return err
}

// interruptWithin is how long the report of an interruption may take, before it is spooled. The CLI kills the hook 1.4 s
// after its signal.
const interruptWithin = 900 * time.Millisecond

// SendHeld is [Send] for an event that the daemon may hold. It calls held with the id of the handoff or of the permission when the daemon says that
// it holds the event, and then waits until [HoldTimeout] is over. If the connection to the daemon breaks, SendHeld sends
// the event again, for 30 seconds at most. Its error after the end of ctx wraps errInterrupted.
func SendHeld(ctx context.Context, socket string, e Envelope, held func(id int64)) ([]byte, error) {
	if err := e.check(); err != nil {
		return nil, err
	}
	life, end := context.WithTimeoutCause(ctx, HoldTimeout, errNoAnswer)
	defer end()
	joined := false
	var lost time.Time // when the daemon could not be reached; zero: it was
	for {
		answer, err := sendOnce(life, socket, e, func(id int64) {
			joined, lost = true, time.Time{}
			held(id)
		})
		switch {
		case ctx.Err() != nil:
			return nil, fmt.Errorf("hook %s to %s: %w", e.Event, socket, errInterrupted)
		case err == nil, !joined, errors.Is(err, ErrRefused), life.Err() != nil:
			return answer, err
		case lost.IsZero():
			lost = time.Now()
		case time.Since(lost) > rejoinWithin:
			return nil, err
		}
		select {
		case <-life.Done():
		case <-time.After(rejoinEvery):
		}
	}
}

// sendOnce posts e once. It has [AnswerTimeout] for a first sign of the daemon.
func sendOnce(ctx context.Context, socket string, e Envelope, held func(int64)) ([]byte, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	patience := time.AfterFunc(AnswerTimeout(e.Event), func() { cancel(errNoAnswer) })
	defer patience.Stop()
	answer, err := exchangeHeld(ctx, socket, request(e), func(fields map[string]string) {
		if id, err := strconv.ParseInt(fields[heldField(e.Event)], 10, 64); err == nil && id > 0 {
			patience.Stop()
			held(id)
		}
	})
	if err == nil {
		answer.body, err = answer.verdict()
	} else if ctx.Err() != nil {
		err = fmt.Errorf("%w: %w", context.Cause(ctx), err)
	}
	if err != nil {
		return nil, fmt.Errorf("hook %s to %s: %w", e.Event, socket, err)
	}
	return answer.body, nil
}

// heldField returns the header field that says that the daemon holds an event.
func heldField(event string) string {
	if event == PermissionRequest {
		return strings.ToLower(AskedHeader)
	}
	return strings.ToLower(HeldHeader)
}

// Interrupted returns the event that reports that the CLI ended the hook e at a time, while the daemon held it for a
// handoff. It has the ids of e.
func Interrupted(e Envelope, handoff int64, at time.Time) Envelope {
	kept := map[string]any{"hook_event_name": Interrupt, handoffField: handoff}
	var ids map[string]any
	_ = json.Unmarshal(e.Body, &ids) // a body that cannot be parsed has no ids
	for name, value := range ids {
		switch name {
		case "session_id", "transcript_path", "cwd":
			kept[name] = value
		}
	}
	e.Body, _ = json.Marshal(kept) // strings and a number cannot fail
	e.Key, e.Event, e.At, e.Holds = NewKey(at), Interrupt, at, false
	return e
}
