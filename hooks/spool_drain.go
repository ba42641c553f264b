package hooks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Drain passes the envelopes to fn, the oldest first. An envelope is accepted if
// fn returns nil; Drain then removes its file. It continues until the spool has no
// more file that it can hand out. It stops at fn's first error and at the end of
// ctx; the files of envelopes that fn did not accept stay. n counts the accepted
// envelopes. If several Drains run at the same time, they hand out the envelopes
// of one agent one after the other and in order.
//
// Drain moves a file that cannot be read or is no envelope to bad/, so that the
// file does not block later files. If it cannot move the file, it skips the file,
// and the next Drain tries again.
//
// After a crash fn may get an envelope a second time. It must recognise the
// envelope by its key.
func (s *Spool) Drain(ctx context.Context, fn func(context.Context, Envelope) error) (n int, err error) {
	s.sweep()
	return s.drain(func(string) bool { return true }, func(name string) (handed, gone bool, err error) {
		end, err := s.turn(ctx, agentOf(name))
		if err != nil {
			return false, false, err
		}
		defer end()
		return s.handOut(ctx, name, fn)
	})
}

// DrainBefore drains only the envelopes of the agent that sent live. It hands them all out in one turn: between two files chance would decide
// whether another Drain or this one is next, and the agent waits.
func (s *Spool) DrainBefore(ctx context.Context, live Envelope, fn func(context.Context, Envelope) error) (n int, err error) {
	agent := live.agent()
	end, err := s.turn(ctx, agent)
	if err != nil {
		return 0, err
	}
	defer end()
	return s.drain(func(name string) bool { return agentOf(name) == agent }, func(name string) (handed, gone bool, err error) {
		return s.handOut(ctx, name, fn)
	})
}

// agentOf returns the tag in a file's name, or "" if the file is no envelope.
func agentOf(name string) string {
	if parts := strings.Split(name, "."); len(parts) == 3 {
		return parts[1]
	}
	return ""
}

func (s *Spool) drain(want func(name string) bool, hand func(name string) (handed, gone bool, err error)) (n int, err error) {
	for {
		files, err := s.files()
		if err != nil {
			return n, err
		}
		fewer := false
		for _, name := range files {
			if !want(name) {
				continue
			}
			handed, gone, err := hand(name)
			if handed {
				n++
			}
			if err != nil {
				return n, err
			}
			fewer = fewer || gone
		}
		if !fewer {
			return n, nil
		}
	}
}

// turn waits until no other Drain hands out an envelope of the agent. Until the caller calls end, other Drains wait, and the one that
// has waited longest is next.
func (s *Spool) turn(ctx context.Context, agent string) (end func(), err error) {
	mine := make(chan struct{})
	s.mu.Lock()
	if s.turns[agent] = append(s.turns[agent], mine); len(s.turns[agent]) == 1 {
		close(mine)
	}
	s.mu.Unlock()
	end = func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		line := s.turns[agent]
		first := line[0] == mine
		switch line = slices.DeleteFunc(line, func(c chan struct{}) bool { return c == mine }); {
		case len(line) == 0:
			delete(s.turns, agent)
			return
		case first:
			close(line[0])
		}
		s.turns[agent] = line
	}
	select {
	case <-mine:
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		end()
		return nil, fmt.Errorf("spool %s: %w", s.dir, context.Cause(ctx))
	}
	return end, nil
}

// handOut hands out one file, if it still exists, in the turn of its agent. gone says that the file is no longer in the spool.
func (s *Spool) handOut(ctx context.Context, name string, fn func(context.Context, Envelope) error) (handed, gone bool, err error) {
	if ctx.Err() != nil {
		return false, false, fmt.Errorf("spool %s: %w", s.dir, context.Cause(ctx))
	}
	path := filepath.Join(s.dir, name)
	e, err := s.read(path)
	e.Sandbox = sandboxOf(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, true, nil // another Drain has handed out the file
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE), errors.Is(err, syscall.ENOMEM):
		return false, false, fmt.Errorf("spool: %w", err) // the machine lacks resources; the file is not bad
	case err != nil:
		gone, err = s.setAside(name, err)
		return false, gone, err
	}
	if applied, _ := s.isStuck(name); !applied {
		if err := fn(ctx, e); err != nil {
			return false, false, fmt.Errorf("spooled hook %s %s: %w", e.Event, e.Key, err)
		}
		handed = true
	}
	err = s.remove(path)
	switch {
	case err == nil, errors.Is(err, fs.ErrNotExist):
		s.free(name)
		return handed, true, nil
	case handed:
		if err = s.bad(path, fmt.Errorf("its hook was applied, but the file can't be removed: %w", err)); err == nil {
			s.stick(name, true)
		}
		return true, false, err
	}
	return false, false, nil
}

// isStuck looks up a file among those that could not be moved or removed. told says that OnBad was called for the file,
// and applied that fn has accepted its hook.
func (s *Spool) isStuck(name string) (applied, told bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	applied, told = s.stuck[name]
	return applied, told
}

func (s *Spool) stick(name string, applied bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stuck[name] = applied
}

func (s *Spool) free(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.stuck, name)
}

func readEnvelope(path string) (Envelope, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if errors.Is(err, syscall.ELOOP) {
		return Envelope{}, fmt.Errorf("%s is a link", path)
	}
	if err != nil {
		return Envelope{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return Envelope{}, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxSpoolFile {
		return Envelope{}, fmt.Errorf("%s is not a regular file of at most %d bytes", path, maxSpoolFile)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxSpoolFile))
	if err != nil {
		return Envelope{}, err
	}
	var e Envelope
	if err := json.Unmarshal(text, &e); err != nil {
		return Envelope{}, fmt.Errorf("spool file %s: %w", path, err)
	}
	if err := e.check(); err != nil {
		return Envelope{}, fmt.Errorf("spool file %s: %w", path, err)
	}
	return e, nil
}

// setAside calls OnBad and moves a file to bad/. If the file cannot be moved, it stays, and setAside calls OnBad once
// more; later Drains call OnBad no more for this file.
func (s *Spool) setAside(name string, why error) (moved bool, err error) {
	from, bad := filepath.Join(s.dir, name), filepath.Join(s.dir, "bad")
	to := filepath.Join(bad, filepath.Base(name))
	_, told := s.isStuck(name)
	if !told { // call OnBad before the move: if the daemon is killed between, OnBad is called twice and not never
		if err := s.bad(to, why); err != nil {
			return false, err
		}
	}
	err = os.Mkdir(bad, 0o700)
	if err == nil || errors.Is(err, fs.ErrExist) {
		err = os.Rename(from, to)
	}
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		s.free(name)
		return true, nil
	}
	if !told {
		if err := s.bad(from, fmt.Errorf("%w; it can't be moved either: %w", why, err)); err != nil {
			return false, err
		}
		s.stick(name, false)
	}
	return false, nil
}

func (s *Spool) bad(path string, why error) error {
	if s.OnBad == nil {
		return nil
	}
	return s.OnBad(path, why)
}

// sweep removes temporary files older than staleTemp: their hook processes were
// killed. It ignores errors, because they must not stop the Drain. The next Drain
// tries again.
func (s *Spool) sweep() {
	left, _ := filepath.Glob(filepath.Join(escapeGlob(s.dir), tempPrefix+"*"))
	for _, path := range left {
		if info, err := os.Lstat(path); err == nil && time.Since(info.ModTime()) > staleTemp {
			_ = os.Remove(path)
		}
	}
}

func escapeGlob(dir string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(dir)
}
