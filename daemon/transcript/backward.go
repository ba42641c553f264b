package transcript

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
)

// backward reads the lines of a file, the last one first, with no more of it in memory than the
// longest line and a chunk. What is appended meanwhile is not seen.
type backward struct {
	r     io.ReaderAt
	off   int64 // what stands before it was not read yet
	floor int64 // and is not, below this; 0: all of it
	chunk int   // bytes read at once
	max   int   // bytes of the longest line that is returned
	long  int   // lines that were longer, and were not

	rest []byte // read but not returned; the file's bytes from off on
	head int    // bytes of rest in which a line break may still be
}

// next returns the line before the last one, without its end; blank ones and those that are too
// long are left out. It is valid until the next call. The error is io.EOF at the beginning of the
// file, and that of ctx when it ends.
func (b *backward) next(ctx context.Context) ([]byte, error) {
	for tooLong := false; ; {
		at := bytes.LastIndexByte(b.rest[:b.head], '\n')
		if at < 0 && b.off > b.floor {
			if tooLong = tooLong || len(b.rest) > b.max; tooLong {
				b.rest = b.rest[:0]
			}
			if err := b.fill(ctx); err != nil {
				return nil, err
			}
			continue
		}
		if at < 0 && (b.floor > 0 || len(b.rest) == 0 && !tooLong) {
			return nil, io.EOF // where that line begins can't be told
		}
		line := b.rest[at+1:]
		b.head = max(at, 0)
		b.rest = b.rest[:b.head]
		if tooLong || len(line) > b.max {
			b.long++
			tooLong = false
			continue
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			return line, nil
		}
	}
}

// fill reads the chunk before the rest.
func (b *backward) fill(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	n := int(min(int64(b.chunk), b.off-b.floor))
	rest := len(b.rest)
	b.rest = slices.Grow(b.rest, n)[:n+rest]
	copy(b.rest[n:], b.rest[:rest])
	if got, err := b.r.ReadAt(b.rest[:n], b.off-int64(n)); got < n {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF // it has become shorter
		}
		return fmt.Errorf("%d bytes at %d: %w", n, b.off-int64(n), err)
	}
	b.off -= int64(n)
	b.head = n
	return nil
}
