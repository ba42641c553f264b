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

// known returns the names of the query that are files or folders of the work tree, spelled as in the query. It compares
// the names itself while git lists the paths. If git got hundreds of names as patterns, it would compare each with every
// path. Also the names come from a document, so they would need quotes.
func (g git) known(ctx context.Context, q worktree.Query) ([]string, error) {
	s := newSought(g.dir, q)
	err := g.list(ctx, s, "--cached")
	if err == nil && s.open > 0 { // this second list walks the whole tree, which may take long
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

// list makes git list paths, from the top of the tree, until all names are found.
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

// errAllFound ends git's list as soon as all names are found.
var errAllFound = errors.New("all names are found")

// sought reads git's list of paths and finds the names of the query in it.
type sought struct {
	paths, bases map[string][]int // indexes into found and Query.Names, by path from the top and by last element of a path
	found        []bool
	open         int    // how many names are not found yet
	part         []byte // the beginning of a path whose end is not written yet
}

// newSought enters each name under all paths that it can mean. A name may be an absolute path, a path relative to the
// query's directory or to the top, or only the last element of a path. newSought leaves out paths outside the work tree.
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
			if rel, err := filepath.Rel(q.Dir, name); err == nil { // the directory's path may go through a link
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

// Write takes a part of the list. As soon as all names are found, it returns errAllFound.
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

// see takes one path from the top: the path of a file or, with a slash at its end, the folder of another repository.
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
