package handoffs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/sight"
)

// readGrace is how long a turn has ended before its transcript counts as complete: a CLI may write the last lines after its
// Stop hook.
const readGrace = 3 * time.Second

// readAgain is how often the transcript of a successor is looked at while its first turn runs.
const readAgain = 3 * time.Second

// maxBriefed is how much of the beginning of a successor's transcript is read, in bytes.
const maxBriefed = 256 << 20

// readSoFar is how far a successor's transcript was read, and what that part shows. Only the successor's lane uses it. A
// daemon that starts reads the transcript from its beginning.
type readSoFar struct {
	path    string
	ref     string // of the handoff
	offset  int64  // the end of the last whole line that was read
	reading *runtimes.Reading
}

// SeeReading commits once that a successor has read its document and context; or, once its first turn has ended, the alert
// that it has not. A successor that reads them later is noted as well. The agent's row says what was committed, and guards
// it, so that a daemon that is killed at any moment tells neither twice.
func (d *Flow) SeeReading(ctx context.Context, a *daemon.Agent) (moved bool, again time.Duration, err error) {
	h, dl, err := d.briefingOf(ctx, a)
	if err != nil {
		return false, 0, err
	}
	if dl == nil || !dl.Has(daemon.Submitted) {
		if h == nil || !a.Active() {
			a.Reading = false // it was never briefed
			return true, 0, d.Commit(ctx, &daemon.Change{Agents: []*daemon.Agent{a}})
		}
		return false, 0, nil
	}
	now := d.Now()
	left, unknown := d.unread(a, h)
	over := a.LastStop > dl.AfterHook && daemon.AwaitedTasks(a, daemon.BackgroundWarn) == 0
	switch {
	case unknown == nil && len(left) == 0:
		a.ReadAt, a.Reading = &now, false
		e := d.Event(event.HandoffRead, &a.ID, &h.ID, map[string]any{"persona": a.PersonaSlug(), "files": toRead(h)})
		return true, 0, d.Commit(ctx, &daemon.Change{Agents: []*daemon.Agent{a}, Events: []*event.Event{e}})
	case over && a.UnreadAt == nil:
		if wait := d.TimeLeft(a.StateAt, readGrace); wait > 0 && a.Active() {
			return false, wait, nil
		}
		a.UnreadAt, a.Reading = &now, a.Active()
		e := d.Event(event.HandoffUnread, &a.ID, &h.ID, map[string]any{"persona": a.PersonaSlug(), "files": left, "message": unreadWords(a, h, left, unknown)})
		e.Alert = true
		return true, 0, d.Commit(ctx, &daemon.Change{Agents: []*daemon.Agent{a}, Events: []*event.Event{e}})
	case !a.Active():
		a.Reading = false // its end is told by other events
		return true, 0, d.Commit(ctx, &daemon.Change{Agents: []*daemon.Agent{a}})
	case a.State == daemon.Working:
		return false, readAgain, nil
	}
	return false, 0, nil
}

// unreadWords says that a successor has not read what it was told to read, and what to do.
func unreadWords(a *daemon.Agent, h *daemon.Handoff, left []string, unknown error) string {
	files := strings.Join(left, " and ")
	if files == "" {
		files = "what its prompt says"
	}
	what := fmt.Sprintf("ended its first turn without reading %s", files)
	if unknown != nil {
		what = fmt.Sprintf("ended its first turn, and nothing shows whether it read %s (%v)", files, unknown)
	}
	next := fmt.Sprintf("look at it with `understudy agent attach %d`", a.ID)
	if a.Active() && len(left) > 0 {
		next = fmt.Sprintf("tell it with `understudy agent send %d \"Read %s\"`, or %s", a.ID, files, next)
	} else if !a.Active() {
		next = fmt.Sprintf("it has ended: see `understudy handoff show %d`", h.ID)
	}
	return fmt.Sprintf("Agent %d (%s), the successor in handoff %d, %s; %s.", a.ID, a.Name, h.ID, what, next)
}

// briefingOf returns the handoff of which an agent is a successor, and the delivery of its injection prompt. Each is nil if
// there is none.
func (d *Flow) briefingOf(ctx context.Context, a *daemon.Agent) (*daemon.Handoff, *daemon.Delivery, error) {
	list, err := d.Store.Handoffs(ctx, daemon.HandoffFilter{SuccessorID: a.ID, Limit: 1})
	if err != nil || len(list) == 0 {
		return nil, nil, err
	}
	h := &list[0]
	heir := heirOf(h, a.ID)
	if heir == nil || heir.DeliveryID == nil {
		return h, nil, nil
	}
	dl, err := d.Store.Delivery(ctx, *heir.DeliveryID)
	switch {
	case errors.Is(err, daemon.ErrNotFound):
		return h, nil, nil
	case err != nil:
		return nil, nil, err
	}
	return h, &dl, nil
}

var (
	errNoTranscript = errors.New("it has no transcript")
	errNotPrompted  = errors.New("its transcript does not show the prompt")
)

// unread returns the files of a handoff that its successor has not read, as far as its transcript shows. unknown says why the
// transcript does not show it; nil: it does.
func (d *Flow) unread(a *daemon.Agent, h *daemon.Handoff) (left []string, unknown error) {
	if a.TranscriptPath == nil {
		return toRead(h), errNoTranscript
	}
	so := d.memories.Of(a.ID).read
	if so == nil || so.path != *a.TranscriptPath || so.ref != h.Ref {
		so = &readSoFar{path: *a.TranscriptPath, ref: h.Ref, reading: d.RuntimeOf(a).Reading(h.Ref, toRead(h))}
		d.memories.Change(a.ID, func(m *flowMemory) { m.read = so })
	}
	err := so.more()
	switch {
	case so.reading.Prompted():
		return so.reading.Left(), nil
	case err != nil:
		return toRead(h), err
	}
	return toRead(h), errNotPrompted
}

// more reads the whole lines that the transcript has beyond those that were read.
func (so *readSoFar) more() error {
	f, err := os.OpenFile(so.path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // opening a pipe would wait for its writer
	if err != nil {
		return err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil || !fi.Mode().IsRegular() {
		return errors.Join(err, errNoTranscript)
	}
	b := make([]byte, sight.ChunkFor(fi.Size()-so.offset))
	for kept := 0; so.offset < maxBriefed; {
		n, err := f.ReadAt(b[kept:], so.offset+int64(kept))
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		n += kept
		whole := bytes.LastIndexByte(b[:n], '\n') + 1
		so.reading.Add(b[:whole])
		so.offset += int64(whole)
		kept = copy(b, b[whole:n])
		switch {
		case err != nil:
			return nil // the rest of the last line is not written yet
		case kept == len(b): // a longer line: it may be the result of a tool
			b = append(b, make([]byte, len(b))...)
		}
	}
	return nil
}

// withReading fills in when the successors of handoffs read their documents. The facts are on the rows of the successors.
func (d *Flow) withReading(ctx context.Context, list []daemon.Handoff) error {
	var ids []int64
	for i := range list {
		ids = append(ids, list[i].SuccessorIDs()...)
	}
	if len(ids) == 0 {
		return nil
	}
	agents, err := d.Store.AgentsByID(ctx, ids)
	if err != nil {
		return err
	}
	by := map[int64]*daemon.Agent{}
	for i := range agents {
		by[agents[i].ID] = &agents[i]
	}
	for i := range list {
		noteReading(&list[i], by)
	}
	return nil
}

// toRead returns the files that the injection prompt tells the successor to read. If it names none, it carries the document
// itself, and the successor has read it when its transcript shows the prompt.
func toRead(h *daemon.Handoff) []string {
	paths := []string{}
	for _, path := range []*string{&h.FilePath, h.ContextPath} {
		if path != nil && h.InjectionPrompt != nil && strings.Contains(*h.InjectionPrompt, *path) {
			paths = append(paths, *path)
		}
	}
	return paths
}

// noteReading fills in when the handoff's successors read the document. The handoff's ReadAt is that of the last one to read
// it; its UnreadAt that of the first one that has not.
func noteReading(h *daemon.Handoff, agents map[int64]*daemon.Agent) {
	h.ReadAt, h.UnreadAt = nil, nil
	all := true
	for i := range h.Heirs {
		heir := &h.Heirs[i]
		if heir.AgentID == nil || agents[*heir.AgentID] == nil {
			all = false
			continue
		}
		a := agents[*heir.AgentID]
		switch heir.ReadAt = a.ReadAt; {
		case heir.ReadAt == nil:
			all, heir.UnreadAt = false, a.UnreadAt
			if heir.UnreadAt != nil && (h.UnreadAt == nil || heir.UnreadAt.Before(*h.UnreadAt)) {
				h.UnreadAt = heir.UnreadAt
			}
		case h.ReadAt == nil || heir.ReadAt.After(*h.ReadAt):
			h.ReadAt = heir.ReadAt
		}
	}
	if !all {
		h.ReadAt = nil
	}
}
