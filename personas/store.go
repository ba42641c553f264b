package personas

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/fsnotify/fsnotify"
)

// ErrNotFound means that no persona, active or archived, has that slug.
var ErrNotFound = errors.New("persona not found")

// Store serves the personas below one folder. Make it with [Open].
type Store struct {
	root string // absolute
	watching
	changed chan struct{}
	scans   atomic.Uint64 // how many scans have begun
	parsed  memo[Persona] // by slug

	mu       sync.Mutex
	snapshot []Persona // never modified, only replaced
	latest   uint64    // number of the scan that made snapshot
}

// Open reads the personas below the folder root, which must exist.
func Open(root string) (*Store, error) {
	abs, err := filepath.Abs(root)
	if err != nil {
		return nil, fmt.Errorf("personas folder %s: %w", root, err)
	}
	s := &Store{root: abs, watching: byEvents(), changed: make(chan struct{}, 1)}
	if _, err := os.Stat(abs); err != nil {
		return nil, fmt.Errorf("personas folder: %w", err)
	}
	if err := s.Refresh(); err != nil {
		return nil, err
	}
	select {
	case <-s.changed: // remove the signal: the first snapshot is no change
	default:
	}
	return s, nil
}

// Get reads one persona from the disk, with its skill and experience of this moment. If both an
// active and an archived persona have the slug, it returns the active one. It returns
// ErrNotFound if there is no such persona. If the persona can't be used, Get returns it with its
// Problem and no error.
func (s *Store) Get(slug string) (Persona, error) {
	if _, err := ParseSlug(slug); err != nil {
		return Persona{}, fmt.Errorf("%w: %w", ErrNotFound, err)
	}
	root, err := os.OpenRoot(s.root)
	if err != nil {
		return Persona{}, fmt.Errorf("persona %s: %w", slug, err)
	}
	defer root.Close()
	p, err := s.load(root, ".", slug)
	if errors.Is(err, fs.ErrNotExist) {
		p, err = s.load(root, archive, slug)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return Persona{}, fmt.Errorf("%w: %s", ErrNotFound, slug)
	}
	if err != nil {
		return Persona{}, fmt.Errorf("persona %s: %w", slug, err)
	}
	return p, nil
}

// Latest returns one persona of the latest snapshot, and reads no file for it. It is for what an agent's persona says about the agent,
// which is asked for again and again. A persona that the snapshot lacks is read from the disk: see [Store.Get].
func (s *Store) Latest(slug string) (Persona, error) {
	if p, ok := s.Snapshot().Find(slug); ok {
		return p, nil
	}
	return s.Get(slug)
}

// Snapshot is what a scan has found: the personas by slug, the active ones first. All who have it share it, so nobody may change it.
type Snapshot []Persona

// Find returns the persona with the slug, an active one rather than an archived one.
func (s Snapshot) Find(slug string) (Persona, bool) {
	for i := range s {
		if s[i].Slug == slug {
			return s[i], true
		}
	}
	return Persona{}, false
}

// Snapshot returns the latest snapshot, without a copy.
func (s *Store) Snapshot() Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.snapshot
}

// List returns a copy of the latest snapshot.
func (s *Store) List() []Persona { return slices.Clone(s.Snapshot()) }

// Changed returns a channel with a signal when the snapshot has changed since the last receive.
// Several changes become one signal. Only one listener may receive; it then calls List.
func (s *Store) Changed() <-chan struct{} { return s.changed }

// Run keeps the snapshot up to date until ctx ends, then returns nil.
func (s *Store) Run(ctx context.Context) error {
	s.follow(ctx, followed{scan: s.rescan, relevant: s.relevant, log: s.log().With("folder", s.root)})
	return nil
}

// Refresh brings the snapshot up to date at once.
func (s *Store) Refresh() error { return s.rescan(func(string) {}) }

// relevant reports whether an event may have changed the snapshot. A change of a file's mode does not
// change it, and neither does a temporary file of an editor.
func (s *Store) relevant(ev fsnotify.Event) bool {
	if ev.Op == fsnotify.Chmod {
		return false
	}
	base := filepath.Base(ev.Name)
	if ev.Name == s.root || base == archive || base == "handoffs" || isDocument(base) {
		return true
	}
	_, err := ParseSlug(base)
	return err == nil
}

// rescan replaces the snapshot. It calls watch with every relevant folder before it reads the
// folder, so that it misses no later change there.
func (s *Store) rescan(watch func(folder string)) error {
	scan := s.scans.Add(1)
	found, err := s.scan(watch)
	if err != nil {
		return fmt.Errorf("scan of the personas: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if scan < s.latest { // drop this scan: another scan began later and has already replaced the snapshot
		return nil
	}
	s.latest = scan
	if slices.Equal(s.snapshot, found) {
		return nil
	}
	s.snapshot = found
	select {
	case s.changed <- struct{}{}:
	default:
	}
	return nil
}

// scan reads every persona. If the folder does not exist, there are none. It reads the active
// personas before the archived ones. So if a persona is archived meanwhile, scan may see it twice,
// but does not miss it.
func (s *Store) scan(watch func(folder string)) ([]Persona, error) {
	watch(s.root)
	root, err := os.OpenRoot(s.root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer root.Close()
	var found []Persona
	active := map[string]bool{}
	for _, parent := range []string{".", archive} {
		if parent == archive {
			watch(filepath.Join(s.root, archive))
		}
		entries, err := readDir(root, parent)
		if err != nil && parent == archive {
			continue // there is no archive
		}
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			slug := e.Name()
			if !isPersona(e) || active[slug] {
				continue
			}
			if e.IsDir() && parent == "." {
				watch(filepath.Join(s.root, slug))
				watch(filepath.Join(s.root, slug, "handoffs"))
			}
			p, err := s.load(root, parent, slug)
			if errors.Is(err, fs.ErrNotExist) {
				continue // removed after it was listed
			}
			if err != nil {
				return nil, err
			}
			active[slug] = true
			found = append(found, p)
		}
	}
	s.parsed.keep(func(slug string) bool { return active[slug] })
	slices.SortStableFunc(found, func(a, b Persona) int {
		return cmp.Or(compareBool(a.Archived, b.Archived), cmp.Compare(a.Slug, b.Slug))
	})
	return found, nil
}

// isPersona reports whether an entry is a folder whose name is a slug. It also accepts a link in
// place of the folder, so that the persona is listed with this problem.
func isPersona(e fs.DirEntry) bool {
	_, err := ParseSlug(e.Name())
	return err == nil && (e.IsDir() || e.Type() == fs.ModeSymlink)
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}
