package personas

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"time"

	"github.com/fsnotify/fsnotify"
)

// watching has the settings for noticing changes, and the log. Set its fields before Run. Only tests change the durations.
type watching struct {
	// Log gets the problems that Run survives; nil means slog.Default(). Set it before Run.
	Log *slog.Logger

	newWatcher func() (*fsnotify.Watcher, error)
	settle     time.Duration // from the first event to the scan
	safety     time.Duration // between scans while the folders are watched
	polling    time.Duration // between scans if a folder can't be watched
}

func byEvents() watching {
	return watching{
		newWatcher: fsnotify.NewWatcher,
		settle:     50 * time.Millisecond,
		safety:     30 * time.Second,
		polling:    2 * time.Second,
	}
}

// followed has the functions by which follow keeps a snapshot up to date.
type followed struct {
	// scan makes a new snapshot. It calls watch with every relevant folder before it reads the
	// folder, so that it misses no later change there.
	scan     func(watch func(folder string)) error
	relevant func(fsnotify.Event) bool // reports whether the event may have changed the snapshot
	// again returns after which time follow calls scan once more, even without an event. If again is nil or returns 0,
	// follow waits for an event or the tick.
	again func() time.Duration
	log   *slog.Logger
}

func (c *watching) log() *slog.Logger {
	if c.Log != nil {
		return c.Log
	}
	return slog.Default()
}

// follow calls scan whenever a file may have changed, until ctx ends.
//
// It watches folders, never files, because the watch of a file ends when an editor saves by rename.
// An event only says that it is time to scan. follow does not interpret events, so a lost event only
// delays the change until the next scan. If inotify does not work, follow polls. That may happen,
// because inotify instances are few and shared with the user's editor, and network file systems have
// none.
func (c watching) follow(ctx context.Context, f followed) {
	w := c.watch(f.log)
	defer w.close()
	w.refresh(f)
	every := c.safety
	tick := time.NewTicker(every)
	defer tick.Stop()
	settled, settling := f.next(), false // settling: an event, and not f.again, asked for the scan
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
				if !settling && f.relevant(ev) {
					settled, settling = time.After(c.settle), true
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
		w.refresh(f)
		settled, settling = f.next(), false
	}
}

// next returns a channel that fires when it is time for the scan that f.again asks for. It returns nil if f.again
// asks for no scan.
func (f *followed) next() <-chan time.Time {
	if f.again == nil {
		return nil
	}
	if wait := f.again(); wait > 0 {
		return time.After(wait)
	}
	return nil
}

// watches is the set of watched folders. It belongs to one goroutine.
type watches struct {
	log        *slog.Logger
	watcher    *fsnotify.Watcher // nil if there is none
	events     <-chan fsnotify.Event
	errs       <-chan error
	wanted     map[string]bool
	failed     bool // at least one folder is not watched, so follow polls
	scanFailed bool
}

// watch starts a watcher. If it can't, it logs once which system limits to raise.
func (c watching) watch(log *slog.Logger) *watches {
	w := &watches{log: log}
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

// lost makes follow poll, because the watcher has closed its channels.
func (w *watches) lost() {
	w.fail(fsnotify.ErrClosed)
	w.events, w.errs = nil, nil
}

// refresh calls scan, and then ends the watches of folders that scan no longer names.
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

// add watches a folder. It ignores a folder that does not exist, because the parent is watched too.
func (w *watches) add(folder string) {
	if w.watcher == nil {
		return
	}
	w.wanted[folder] = true
	if err := w.watcher.Add(folder); err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.fail(err)
	}
}

// end removes the watches of folders that were not added since begin.
func (w *watches) end() {
	if w.watcher == nil {
		return
	}
	for _, folder := range w.watcher.WatchList() {
		if !w.wanted[folder] {
			_ = w.watcher.Remove(folder) // fails if the folder is gone
		}
	}
}

func (w *watches) close() {
	if w.watcher != nil {
		_ = w.watcher.Close()
	}
}
