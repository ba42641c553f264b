package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/hooks"
)

// tail is how far the transcript of an agent was read.
type tail struct {
	path   string
	offset int64 // the end of the last whole line that was read
}

// tailStart is how many bytes of its end are read of a transcript that this daemon has not read before.
const tailStart = 8 << 20

// tailChunk is how many bytes are read at once.
const tailChunk = 1 << 20

// chunkFor returns how large a buffer must be that reads what is left of a file, or a chunk of it, and sees whether that was the end. Most
// looks at a transcript find little or nothing new.
func chunkFor(left int64) int { return int(min(max(left, 0)+1, tailChunk)) }

// readTail takes what an agent's transcript tells and no hook of its runtime reports, such as an error that ended a turn.
func (d *Daemon) readTail(ctx context.Context, a *daemon.Agent) (moved bool, again time.Duration, err error) {
	rt := d.runtimeOf(a)
	if rt.Tail == nil || a.TranscriptPath == nil || a.SessionID == nil {
		return false, 0, nil
	}
	for {
		b, at, err := d.nextOfTail(a)
		if err != nil || len(b) == 0 {
			return moved, 0, nil // the file may not be made yet
		}
		read := 0
		for line := range bytes.Lines(b) {
			read += len(line)
			r, ok := rt.Tail(*a.SessionID, line)
			if !ok {
				continue
			}
			if p, err := hooks.Parse(r.Event, r.Body); err == nil && p.Event == hooks.PromptRefused {
				if r, ok, err = readRefusal(ctx, d, a, r, p, b[read-len(line):]); err != nil {
					return moved, 0, err
				} else if !ok {
					continue
				}
			}
			if err := d.report(ctx, a, r); err != nil {
				return false, 0, fmt.Errorf("agent %d: transcript: %w", a.ID, err)
			}
			moved = true
		}
		d.memories.change(a.ID, func(m *agentMemory) { m.tail = tail{*a.TranscriptPath, at + int64(len(b))} })
	}
}

// tailGrew reports whether an agent's transcript has more than was read of it.
func (d *Daemon) tailGrew(a *daemon.Agent) bool {
	if d.runtimeOf(a).Tail == nil || a.TranscriptPath == nil || a.SessionID == nil {
		return false
	}
	fi, err := os.Stat(*a.TranscriptPath)
	was := d.memories.of(a.ID).tail
	return err == nil && (was.path != *a.TranscriptPath || fi.Size() != was.offset)
}

// nextOfTail returns the next whole lines of an agent's transcript, and their offset.
func (d *Daemon) nextOfTail(a *daemon.Agent) (lines []byte, at int64, err error) {
	f, err := os.OpenFile(*a.TranscriptPath, os.O_RDONLY|syscall.O_NONBLOCK, 0) // opening a pipe would wait for its writer
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil || !fi.Mode().IsRegular() {
		return nil, 0, err
	}
	was := d.memories.of(a.ID).tail
	if at = was.offset; was.path != *a.TranscriptPath || fi.Size() < at {
		at = max(0, fi.Size()-tailStart) // the first line may be cut off; such a line is no report
	}
	lines = make([]byte, min(tailChunk, fi.Size()-at))
	n, err := f.ReadAt(lines, at)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, 0, err
	}
	end := bytes.LastIndexByte(lines[:n], '\n') + 1
	if end == 0 && n == tailChunk {
		end = n // a line of this length is no report: skip it part by part
	}
	return lines[:end], at, nil
}
