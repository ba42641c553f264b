package opencode

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/runtimes/opencode"
)

const (
	// apart is the time between two looks at the server.
	apart = 100 * time.Millisecond
	// silence is how long the stream may be silent; the server sends a heartbeat every 10 s.
	silence = 35 * time.Second
	// unasked is how long the server is not looked at without an event.
	unasked = 20 * time.Second
	// maxEvent is the longest event that is read; a longer one only says that it is time to look.
	maxEvent = 1 << 20
	// comesUp is how long the screen of a new agent is told which session it is to show, and showsEvery the time between two tellings.
	// A start that took 76 s was seen. A telling more keeps a draft and its dialog (1.18.33).
	comesUp    = 2 * time.Minute
	showsEvery = time.Second
	// replayed is how many turns are reported again at the beginning. What is older was reported by an earlier Follow.
	replayed = 100
)

// event is one event of the stream, as far as it matters.
type event struct {
	Type       string `json:"type"`
	Properties struct {
		SessionID string          `json:"sessionID"`
		Error     *opencode.Error `json:"error"`
		Info      reverted        `json:"info"`
	} `json:"properties"`
}

// reverted is of a session: the message from which on a person has taken the conversation back. The messages stay until the next
// prompt.
type reverted struct {
	Revert *struct {
		MessageID string `json:"messageID"`
	} `json:"revert"`
}

// from returns the id of that message; "": nothing is taken back.
func (r reverted) from() string {
	if r.Revert == nil {
		return ""
	}
	return r.Revert.MessageID
}

// follower is one Follow.
type follower struct {
	*server
	id      string
	tell    func(runtimes.Report) error
	told    map[string]bool // by key
	before  opencode.Sight
	asks    []string // ids of the requests of which people were told, and which are still open
	mirror  mirror
	windows map[[2]string]int64
	earlier map[string]bool // see [daemon.Link.Earlier]; nil: not read yet
	stale   bool            // an older message has changed: read all
}

// Follow implements [daemon.Control]. What came before is reported by the first look.
func (s *server) Follow(ctx context.Context, tell func(runtimes.Report) error) (err error) {
	defer s.close()
	if err := s.awake(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	// The stream comes first: what happens between it and the first look is seen twice rather than never.
	stream, err := s.request(ctx, http.MethodGet, "/event", nil)
	if err != nil {
		return err
	}
	events, ended := make(chan event, 64), make(chan struct{})
	go func() {
		defer close(ended)
		defer stream.Body.Close()
		cancel(readEvents(ctx, bufio.NewReaderSize(stream.Body, 64<<10), events))
	}()
	defer func() { cancel(nil); <-ended }()

	f := &follower{server: s, tell: tell, told: map[string]bool{}, mirror: mirror{path: s.link.Transcript}}
	f.before.Retried = s.link.Retrying
	if f.id, err = s.theSession(ctx); err != nil {
		return err
	}
	if err := s.narrow(ctx, f.id); err != nil {
		return err
	}
	if f.windows, err = s.windows(ctx); err != nil {
		return err
	}
	err = f.run(ctx, events)
	if cause := context.Cause(ctx); cause != nil && errors.Is(err, context.Canceled) {
		err = cause
	}
	return errors.Join(err, f.mirror.finish(&f.before))
}

// readEvents passes the events of a stream on until it ends.
func readEvents(ctx context.Context, r *bufio.Reader, events chan<- event) error {
	for {
		line, err := readLine(r)
		if err != nil {
			return fmt.Errorf("stream of events: %w", err)
		}
		data, ok := bytes.CutPrefix(line, []byte("data:"))
		if !ok {
			continue
		}
		var e event
		if json.Unmarshal(data, &e) != nil {
			e = event{Type: "unknown"}
		}
		select {
		case events <- e:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// readLine returns the next line, cut to maxEvent.
func readLine(r *bufio.Reader) (line []byte, err error) {
	for {
		part, more, err := r.ReadLine()
		if err != nil {
			return nil, err
		}
		if len(line) < maxEvent {
			line = append(line, part...)
		}
		if !more {
			return line, nil
		}
	}
}

// run looks at the server at once, after each event that matters, and when there may be more to tell.
func (f *follower) run(ctx context.Context, events <-chan event) error {
	quiet := time.NewTimer(silence)
	defer quiet.Stop()
	next := time.NewTimer(0)
	defer next.Stop()
	// Nothing says whether the screen has heard which session it is to show: one that came up slowly has not, and what a person types
	// there begins a session that nobody follows.
	up, shows := time.Now().Add(comesUp), time.NewTimer(0)
	defer shows.Stop()
	if f.link.Session != "" {
		shows.Stop()
	}
	var last time.Time
	soon := func(d time.Duration) { next.Reset(max(d, apart-time.Since(last))) }
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-quiet.C:
			return errors.New("stream of events: silent for too long")
		case e := <-events:
			quiet.Reset(silence)
			if f.matters(e) {
				soon(0)
			}
		case <-shows.C:
			if err := f.show(ctx, f.id); err != nil {
				return err
			}
			if time.Now().Before(up) {
				shows.Reset(showsEvery)
			}
		case <-next.C:
			last = time.Now()
			again, err := f.look(ctx)
			if err != nil {
				return err
			}
			soon(min(unasked, again))
		}
	}
}

// matters reports whether an event is a reason to look.
func (f *follower) matters(e event) bool {
	kind, _, _ := strings.Cut(e.Type, ".")
	switch {
	case kind == "permission", kind == "question", e.Type == "unknown":
		return true
	case e.Properties.SessionID != f.id:
		return false
	case e.Type == "session.error" && e.Properties.Error != nil:
		f.before.Failed, f.before.FailedAt = e.Properties.Error, time.Now()
	case e.Type == "session.updated":
		f.before.Reverted = e.Properties.Info.from()
	case e.Type == "message.removed":
		f.stale = true
	}
	return kind == "session" || e.Type == "message.updated" || e.Type == "message.removed"
}

// look reads the session and reports what is new. again is when to look again without an event.
func (f *follower) look(ctx context.Context) (again time.Duration, err error) {
	now, first := time.Now(), len(f.before.Messages) == 0
	sight, err := f.readOn(ctx)
	if err != nil {
		return 0, err
	}
	if f.earlier == nil {
		if f.earlier, err = f.link.Earlier(sight.PromptsBefore(f.link.Began)); err != nil {
			return 0, err
		}
	}
	sight.Earlier = f.earlier
	if sight.Reverted = f.before.Reverted; first {
		var session reverted
		if err := f.call(ctx, http.MethodGet, inSession(f.id, ""), nil, &session); err != nil {
			return 0, err
		}
		sight.Reverted = session.from()
	}
	sight.Failed, sight.FailedAt, sight.Retried = f.before.Failed, f.before.FailedAt, f.before.Retried
	// Since the first look that saw it idle with this last message, not since the last one that saw it busy: it may have been busy between two
	// looks, for the server may be silent for a minute.
	if sight.Status.Type == "" {
		if sight.IdleSince = f.before.IdleSince; sight.IdleSince.IsZero() || sight.Newest() != f.before.Newest() {
			sight.IdleSince = now
		}
	}
	if sight.Status.Type != "" {
		asked, err := f.asked(ctx)
		if err != nil {
			return 0, err
		}
		sight.Asked = since(now, f.before.Asked, asked)
	}
	sight.Window = f.window(&sight)
	f.before = sight
	if err := f.mirror.write(&sight); err != nil {
		return 0, err
	}
	reports, limited, again := sight.Reports(now)
	if first && len(reports) > 2*replayed {
		reports = append(reports[:1:1], reports[len(reports)-2*replayed:]...)
	}
	if err := f.closed(&sight); err != nil {
		return 0, err
	}
	if err := f.report(reports); err != nil {
		return 0, err
	}
	f.before.Retried = sight.Status.Type == "retry" && !limited
	if limited { // only now: an abort that nobody has reported would look like a person's
		if err := f.call(ctx, http.MethodPost, inSession(f.id, "/abort"), nil, nil); err != nil {
			return 0, err
		}
	}
	if again == 0 {
		again = unasked
	}
	return again, nil
}

// report tells what was not told yet.
func (f *follower) report(reports []runtimes.Report) error {
	for _, r := range reports {
		if f.told[r.Key] {
			continue
		}
		if err := f.tell(r); err != nil {
			return err
		}
		f.told[r.Key] = true
		if id, asked := strings.CutPrefix(r.Key, "asked "); asked {
			f.asks = append(f.asks, id)
		}
	}
	return nil
}

// closed tells of the requests that are no longer open.
func (f *follower) closed(sight *opencode.Sight) error {
	for len(f.asks) > 0 {
		id := f.asks[0]
		if slices.ContainsFunc(sight.Asked, func(q opencode.Asked) bool { return q.ID == id }) {
			return nil
		}
		if err := f.report([]runtimes.Report{sight.DialogClosed(id)}); err != nil {
			return err
		}
		f.asks = f.asks[1:]
	}
	return nil
}

// readOn reads the session and joins what is new to what earlier looks have read.
func (f *follower) readOn(ctx context.Context) (opencode.Sight, error) {
	known := f.before.Messages
	if len(known) == 0 || f.stale {
		f.stale = false
		return f.read(ctx, f.id, 0)
	}
	sight, err := f.read(ctx, f.id, recent)
	if err != nil || len(sight.Messages) < recent {
		return sight, err // these are all
	}
	at := slices.IndexFunc(known, func(m opencode.Message) bool { return m.Info.ID == sight.Messages[0].Info.ID })
	if at < 0 {
		return f.read(ctx, f.id, 0)
	}
	sight.Messages = append(slices.Clone(known[:at]), sight.Messages...)
	return sight, nil
}

// window returns the size of the context window of the model that answered last.
func (f *follower) window(sight *opencode.Sight) int64 {
	for _, m := range slices.Backward(sight.Messages) {
		if m.Info.Role == "assistant" {
			return f.windows[[2]string{m.Info.Provider, m.Info.Model}]
		}
	}
	return 0
}
