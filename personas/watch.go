package personas

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"time"

	"github.com/fsnotify/fsnotify"
)

// watching says how to notice changes, and where to log. Its fields are set before Run; only tests change the durations.
type watching struct {
	// Log gets the problems that Run survives; nil means slog.Default(). Set it before Run.
	Log *slog.Logger

	newWatcher func() (*fsnotify.Watcher, error) // nil: poll
	settle     time.Duration                     // from the first event to the scan
	safety     time.Duration                     // between scans while events come
	polling    time.Duration                     // between scans without events
}

func byEvents() watching {
	return watching{
		newWatcher: fsnotify.NewWatcher,
		settle:     50 * time.Millisecond,
		safety:     30 * time.Second,
		polling:    2 * time.Second,
	}
}

// Poll makes Run read the folder every two seconds, as where the system can't report changes. Call it
// before Run.
func (c *watching) Poll() { c.newWatcher = nil }

// followed is what follow keeps up to date.
type followed struct {
	// scan reads it again. It calls watch with every relevant folder before it reads the folder,
	// so that it misses no later change there.
	scan     func(watch func(folder string)) error
	relevant func(fsnotify.Event) bool // reports whether the event may have changed it
	// again returns after which time follow scans once more, without an event; 0: not. nil: never.
	again func() time.Duration
	log   *slog.Logger
}

func (c *watching) log() *slog.Logger {
	if c.Log != nil {
		return c.Log
	}
	return slog.Default()
}

// follow scans whenever something may have changed, until ctx ends.
//
// It watches folders, never files: the watch of a file ends when an editor saves by rename. An
// event only says that it is time to scan; no event is interpreted, and a lost one only delays the
// change until the next scan. Without inotify it polls: inotify instances are few and shared with
// the user's editor, and network file systems have none.
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

// next returns a channel that fires when f.again asks for another scan; nil: it asks for none.
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
	failed     bool // some folder is not watched
	scanFailed bool
}

// watch starts watching, unless c polls. If it can't, it logs once what would help.
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

// lost continues without the watcher, which has closed its channels.
func (w *watches) lost() {
	w.fail(fsnotify.ErrClosed)
	w.events, w.errs = nil, nil
}

// refresh scans, and then watches exactly the folders that exist now.
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

// add watches a folder. It ignores one that does not exist, because the parent is watched too.
func (w *watches) add(folder string) {
	if w.watcher == nil {
		return
	}
	w.wanted[folder] = true
	if err := w.watcher.Add(folder); err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.fail(err)
	}
}

// end drops the watches of folders that were not added since begin.
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
