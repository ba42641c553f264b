package sight

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"

	"github.com/understudyd/understudy/daemon"
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

// ChunkFor returns how large a buffer must be that reads what is left of a file, or a chunk of it, and sees whether that was the end. Most
// looks at a transcript find little or nothing new.
func ChunkFor(left int64) int { return int(min(max(left, 0)+1, tailChunk)) }

// TailGrew reports whether an agent's transcript has more than was read of it.
func (d *Sight) TailGrew(a *daemon.Agent) bool {
	if d.RuntimeOf(a).Tail == nil || a.TranscriptPath == nil || a.SessionID == nil {
		return false
	}
	fi, err := os.Stat(*a.TranscriptPath)
	was := d.memories.Of(a.ID).tail
	return err == nil && (was.path != *a.TranscriptPath || fi.Size() != was.offset)
}

// NextOfTail returns the next whole lines of an agent's transcript, and their offset.
func (d *Sight) NextOfTail(a *daemon.Agent) (lines []byte, at int64, err error) {
	f, err := os.OpenFile(*a.TranscriptPath, os.O_RDONLY|syscall.O_NONBLOCK, 0) // opening a pipe would wait for its writer
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil || !fi.Mode().IsRegular() {
		return nil, 0, err
	}
	was := d.memories.Of(a.ID).tail
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

// FileGone reports whether the file is missing in which the runtime keeps the conversation of an agent of this host. A session
// that was given no prompt has none.
func (d *Sight) FileGone(a *daemon.Agent) bool {
	if a.TranscriptPath == nil || !d.RuntimeOf(a).Can.OpensFile {
		return false
	}
	_, err := os.Stat(*a.TranscriptPath)
	return errors.Is(err, fs.ErrNotExist)
}

// NoteTail notes how far the transcript of an agent was read.
func NoteTail(d *Sight, a *daemon.Agent, to int64) {
	d.memories.Change(a.ID, func(m *sightMemory) { m.tail = tail{*a.TranscriptPath, to} })
}
