package personas

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

// watching is how changes are noticed. Its fields are set before Run and vary in tests only.
type watching struct {
	newWatcher func() (*fsnotify.Watcher, error) // nil: poll
	settle     time.Duration                     // from the first event to the scan
	safety     time.Duration                     // between scans while events come
	polling    time.Duration                     // between scans while they can't
}

func byEvents() watching {
	return watching{
		newWatcher: fsnotify.NewWatcher,
		settle:     50 * time.Millisecond,
		safety:     30 * time.Second,
		polling:    2 * time.Second,
	}
}

// Poll has Run read the folder every two seconds, as where the system can't tell of changes. It is called
// before Run.
func (c *watching) Poll() { c.newWatcher = nil }

// followed is what is kept up to date.
type followed struct {
	// scan reads it anew. It calls watch with every folder that matters before it reads it, so
	// that nothing that happens in it afterwards goes unseen.
	scan     func(watch func(folder string)) error
	relevant func(fsnotify.Event) bool // may the event have changed it?
	log      *slog.Logger
}

// follow scans whenever something may have changed, until ctx ends.
//
// Folders are watched, never files: a file's watch dies with the first editor that saves by
// rename. An event only says that it is time to scan, so none of them is ever interpreted and
// a lost one costs no more than the time to the next scan. Without inotify (its instances are
// few, and shared with the user's editor; network file systems have none) it polls.
func (c watching) follow(ctx context.Context, f followed) {
	w := c.watch(f.log)
	defer w.close()
	w.refresh(f)
	every := c.safety
	tick := time.NewTicker(every)
	defer tick.Stop()
	var settled <-chan time.Time
	for {
		if w.failed && every != c.polling {
			every = c.polling
			tick.Reset(every)
		}
		select {
		case <-ctx.Done():
			return
		case ev, ok := <-w.events:
			if ok {
				if settled == nil && f.relevant(ev) {
					settled = time.After(c.settle)
				}
				continue
			}
			w.lost()
		case err, ok := <-w.errs:
			if !ok {
				w.lost()
			} else if !errors.Is(err, fsnotify.ErrEventOverflow) {
				w.log.Warn("watch of a folder", "error", err)
			}
		case <-settled:
		case <-tick.C:
		}
		settled = nil
		w.refresh(f)
	}
}

// Run keeps the snapshot up to date until ctx ends, then returns nil.
func (s *Store) Run(ctx context.Context) error {
	s.follow(ctx, followed{scan: s.rescan, relevant: s.relevant, log: s.log().With("folder", s.root)})
	return nil
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

// watches is the set of watched folders. It belongs to one goroutine.
type watches struct {
	log        *slog.Logger
	watcher    *fsnotify.Watcher // nil if there is none
	events     <-chan fsnotify.Event
	errs       <-chan error
	wanted     map[string]bool
	failed     bool // not everything is watched
	scanFailed bool
}

// watch starts watching, if it is to; if it can't, it says what would help, once.
func (c watching) watch(log *slog.Logger) *watches {
	w := &watches{log: log}
	if c.newWatcher == nil {
		w.failed = true
		return w
	}
	watcher, err := c.newWatcher()
	if err != nil {
		w.fail(err)
		return w
	}
	w.watcher, w.events, w.errs = watcher, watcher.Events, watcher.Errors
	return w
}

func (w *watches) fail(err error) {
	if !w.failed {
		w.log.Warn("folders can't be watched, polling instead; raise fs.inotify.max_user_instances or max_user_watches with sysctl", "error", err)
	}
	w.failed = true
}

// lost goes on without a watcher that has closed its channels.
func (w *watches) lost() {
	w.fail(fsnotify.ErrClosed)
	w.events, w.errs = nil, nil
}

// refresh scans and moves the watches to the folders that there are now.
func (w *watches) refresh(f followed) {
	w.begin()
	err := f.scan(w.add)
	if err == nil {
		w.end()
	}
	if failed := err != nil; failed != w.scanFailed {
		w.scanFailed = failed
		if failed {
			w.log.Warn("scan of a folder, the last state stays", "error", err)
		} else {
			w.log.Info("scan of a folder works again")
		}
	}
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
