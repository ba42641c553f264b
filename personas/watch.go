package personas

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

// Run keeps the snapshot up to date until ctx ends, then returns nil.
//
// Folders are watched, never files: a file's watch dies with the first editor that saves by
// rename. An event only says that it is time to scan, so none of them is ever interpreted and
// a lost one costs no more than the time to the next scan. Without inotify (its instances are
// few, and shared with the user's editor; network file systems have none) it polls.
func (s *Store) Run(ctx context.Context) error {
	w := s.watch()
	defer w.close()
	s.refresh(w)
	every := s.safety
	tick := time.NewTicker(every)
	defer tick.Stop()
	var settled <-chan time.Time
	for {
		if w.failed && every != s.polling {
			every = s.polling
			tick.Reset(every)
		}
		select {
		case <-ctx.Done():
			return nil
		case ev, ok := <-w.events:
			if ok {
				if settled == nil && s.relevant(ev) {
					settled = time.After(s.settle)
				}
				continue
			}
			w.lost()
		case err, ok := <-w.errs:
			if !ok {
				w.lost()
			} else if !errors.Is(err, fsnotify.ErrEventOverflow) {
				s.log().Warn("persona watch", "error", err)
			}
		case <-settled:
		case <-tick.C:
		}
		settled = nil
		s.refresh(w)
	}
}

// refresh scans and moves the watches to the folders that there are now.
func (s *Store) refresh(w *watches) {
	w.begin()
	err := s.rescan(w.add)
	if err == nil {
		w.end()
	}
	if failed := err != nil; failed != w.scanFailed {
		w.scanFailed = failed
		if failed {
			s.log().Warn("persona scan, the last state stays", "error", err)
		} else {
			s.log().Info("persona scan works again")
		}
	}
}

// relevant reports whether an event may have changed the snapshot. Mode changes have not, nor
// have the files that editors put beside the one they edit.
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

// watches is the set of watched folders. It belongs to Run's goroutine.
type watches struct {
	store      *Store
	watcher    *fsnotify.Watcher // nil if there is none
	events     <-chan fsnotify.Event
	errs       <-chan error
	wanted     map[string]bool
	failed     bool // not everything is watched
	scanFailed bool
}

// watch starts watching; if it can't, it says what would help, once.
func (s *Store) watch() *watches {
	w := &watches{store: s}
	watcher, err := s.newWatcher()
	if err != nil {
		w.fail(err)
		return w
	}
	w.watcher, w.events, w.errs = watcher, watcher.Events, watcher.Errors
	return w
}

func (w *watches) fail(err error) {
	if !w.failed {
		w.store.log().Warn("persona folders can't be watched, polling instead; raise fs.inotify.max_user_instances or max_user_watches with sysctl", "error", err)
	}
	w.failed = true
}

// lost goes on without a watcher that has closed its channels.
func (w *watches) lost() {
	w.fail(fsnotify.ErrClosed)
	w.events, w.errs = nil, nil
}

func (w *watches) begin() { w.wanted = map[string]bool{} }

// add watches a folder. One that does not exist is not missed: its parent is watched too.
func (w *watches) add(folder string) {
	if w.watcher == nil {
		return
	}
	w.wanted[folder] = true
	if err := w.watcher.Add(folder); err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.fail(err)
	}
}

// end drops the watches that nobody asked for since begin.
func (w *watches) end() {
	if w.watcher == nil {
		return
	}
	for _, folder := range w.watcher.WatchList() {
		if !w.wanted[folder] {
			_ = w.watcher.Remove(folder) // gone already, most likely
		}
	}
}

func (w *watches) close() {
	if w.watcher != nil {
		_ = w.watcher.Close()
	}
}
