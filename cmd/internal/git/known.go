package git

import (
	"bytes"
	"context"
	"errors"
	"path"
	"path/filepath"
	"strings"

	"github.com/understudyd/understudy/daemon/worktree"
)

// known returns those of the names asked for that a file or folder of the work tree has, as they
// were asked for. It compares them itself, while git lists: hundreds of names as patterns would be
// compared by git with every path, and a name from a document would need quoting.
func (g git) known(ctx context.Context, q worktree.Query) ([]string, error) {
	s := newSought(g.dir, q)
	err := g.list(ctx, s, "--cached")
	if err == nil && s.open > 0 { // needs a walk of the whole tree, which may take long
		err = g.list(ctx, s, "--others", "--exclude-standard")
	}
	var out []string
	for i, name := range q.Names {
		if s.found[i] {
			out = append(out, name)
		}
	}
	return out, err
}

// list has git list paths from the top until all that is sought is found.
func (g git) list(ctx context.Context, s *sought, which ...string) error {
	if s.open == 0 {
		return nil
	}
	stderr, exit, err := g.run(ctx, s, append([]string{"ls-files", "-z"}, which...)...)
	switch {
	case errors.Is(err, errAllFound):
		return nil
	case err == nil && exit != 0:
		return g.refused("ls-files", stderr, exit)
	}
	return err
}

// errAllFound ends a list of which no more is needed.
var errAllFound = errors.New("all names are found")

// sought finds names in what git lists, which is written to it.
type sought struct {
	paths, bases map[string][]int // the names' indexes by path from the top, and by last element
	found        []bool
	open         int    // names not found yet
	part         []byte // the beginning of a path that is not complete
}

// newSought enters each name under all that it can mean: relative to the directory or to the top,
// absolute, or the last element alone. A name outside the work tree means nothing.
func newSought(top string, q worktree.Query) *sought {
	s := &sought{paths: map[string][]int{}, bases: map[string][]int{}, found: make([]bool, len(q.Names)), open: len(q.Names)}
	dir := q.Dir
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	for i, name := range q.Names {
		if name == "" {
			continue
		}
		if filepath.IsAbs(name) {
			s.enter(i, top, name)
			if rel, err := filepath.Rel(q.Dir, name); err == nil { // through a link in the directory's path
				s.enter(i, top, filepath.Join(dir, rel))
			}
			continue
		}
		s.enter(i, top, filepath.Join(dir, name))
		s.enter(i, top, filepath.Join(top, name))
		if !strings.Contains(name, "/") {
			s.bases[name] = append(s.bases[name], i)
		}
	}
	return s
}

// enter enters an absolute path for name i.
func (s *sought) enter(i int, top, abs string) {
	if rel, err := filepath.Rel(top, abs); err == nil && filepath.IsLocal(rel) {
		s.paths[rel] = append(s.paths[rel], i)
	}
}

// Write takes a part of the list. It returns errAllFound when no more is needed.
func (s *sought) Write(p []byte) (int, error) {
	s.part = append(s.part, p...)
	rest := s.part
	for {
		at := bytes.IndexByte(rest, 0)
		if at < 0 {
			break
		}
		s.see(string(rest[:at]))
		rest = rest[at+1:]
	}
	s.part = append(s.part[:0], rest...)
	if s.open == 0 {
		return 0, errAllFound
	}
	return len(p), nil
}

// see takes one path from the top: of a file, or with a slash at its end of another repository's
// folder.
func (s *sought) see(file string) {
	file = strings.TrimSuffix(file, "/")
	s.mark(s.bases[path.Base(file)])
	for p := file; p != "." && p != "/"; p = path.Dir(p) {
		s.mark(s.paths[p])
	}
}

func (s *sought) mark(names []int) {
	for _, i := range names {
		if !s.found[i] {
			s.found[i] = true
			s.open--
		}
	}
}
