package transcript

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
)

// backward reads the lines of a file, the last one first. It keeps at most the longest line and one chunk of the file in
// memory. It does not read bytes that are appended after off was set.
type backward struct {
	r     io.ReaderAt
	off   int64 // the bytes before off are still to be read; at first the file's size
	floor int64 // the bytes before floor are never read
	chunk int   // how many bytes fill reads at once
	max   int   // the length of the longest line that next returns, in bytes
	long  int   // how many lines were left out because they are longer than max

	rest []byte // bytes that were read but not returned: the file's bytes from off on
	head int    // only the first head bytes of rest may have a line break
}

// next returns the line before the line that it returned last, without its line break. The line is valid until the next
// call. next skips blank lines and lines longer than max. The error is io.EOF at the beginning of the file or at floor,
// and the cause of ctx when ctx has ended.
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
			return nil, io.EOF // do not return the line at floor: its beginning may lie before floor
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

// mark returns the place before the line that next returned last, for back.
func (b *backward) mark() int64 { return b.off + int64(b.head) }

// back has next return the lines before a mark again.
func (b *backward) back(mark int64) { b.off, b.rest, b.head = mark, b.rest[:0], 0 }

// fill reads the chunk before rest.
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
			err = io.ErrUnexpectedEOF // the file has become shorter
		}
		return fmt.Errorf("%d bytes at %d: %w", n, b.off-int64(n), err)
	}
	b.off -= int64(n)
	b.head = n
	return nil
}
