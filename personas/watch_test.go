package personas

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

// patience limits how long a test waits for a change that must be noticed.
const patience = 20 * time.Second

// run runs the store until the test ends. It returns after the first scan, when the folders are
// watched.
func run(t *testing.T, s *Store) {
	t.Helper()
	s.Log = slog.New(slog.NewTextHandler(io.Discard, nil))
	before := s.scans.Load()
	untilTheEnd(t, s.Run)
	wardentest.Eventually(t, "run scans", func() bool { return s.scans.Load() > before && published(s, before+1) })
}

// watched is a running store of a folder with one persona, or with none. prepare changes the store before it runs.
func watched(t *testing.T, files map[string]string, prepare func(*Store)) (s *Store, root string) {
	t.Helper()
	root = folder(t, files)
	s = openStore(t, root)
	prepare(s)
	run(t, s)
	return s, root
}

// untilTheEnd runs a function until the test ends, when the function must end as well.
func untilTheEnd(t *testing.T, run func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- run(ctx) }()
	t.Cleanup(func() {
		cancel()
		select {
		case err := <-done:
			if err != nil {
				t.Errorf("run ended with %v", err)
			}
		case <-time.After(patience):
			t.Error("run did not end")
		}
	})
}

func published(s *Store, scan uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.latest >= scan
}

// await waits for a signal after which ok accepts the list.
func await(t *testing.T, s *Store, what string, ok func([]Persona) bool) {
	t.Helper()
	deadline := time.After(patience)
	for !ok(s.List()) {
		select {
		case <-s.Changed():
		case <-deadline:
			t.Fatalf("%s: not noticed: %+v", what, s.List())
		}
	}
}

// eventsOnly turns off all scans but those that an event causes.
func eventsOnly(s *Store) { s.safety, s.polling = time.Hour, time.Hour }

func skillIs(want string) func([]Persona) bool {
	return func(all []Persona) bool { return len(all) > 0 && all[0].Skill == want && all[0].Problem == "" }
}

func skill(text string) string { return strings.Replace(plain, "Do it.\n", text, 1) }

func TestReload(t *testing.T) {
	t.Parallel()
	s, root := watched(t, map[string]string{slug + "/skill.md": plain}, eventsOnly)
	path := filepath.Join(root, slug, "skill.md")

	put(t, path, skill("plain"))
	await(t, s, "plain write", skillIs("plain"))

	// This saves as Vim does with backupcopy=no; twice, because the watch must survive the first time.
	for _, text := range []string{"vim", "vim again"} {
		must(t, os.Rename(path, path+"~"))
		put(t, path, skill(text))
		must(t, os.Remove(path+"~"))
		await(t, s, text, skillIs(text))
	}
	for _, text := range []string{"renamed", "renamed again"} {
		put(t, path+".tmp", skill(text))
		must(t, os.Rename(path+".tmp", path))
		await(t, s, text, skillIs(text))
	}

	put(t, path, "broken")
	await(t, s, "broken skill", func(all []Persona) bool { return all[0].Problem != "" })
	must(t, os.Remove(path))
	await(t, s, "removed skill", func(all []Persona) bool { return strings.Contains(all[0].Problem, "no skill.md") })
	put(t, path, plain)
	await(t, s, "mended skill", skillIs("Do it.\n"))

	put(t, filepath.Join(root, slug, "experience.md"), "learnt")
	await(t, s, "experience", func(all []Persona) bool { return all[0].Experience == "learnt" })
	put(t, filepath.Join(root, slug, "handoffs/x.md"), "x") // in a new folder
	await(t, s, "handoff", func(all []Persona) bool { return all[0].Handoffs == 1 })
	put(t, filepath.Join(root, slug, "handoffs/y.md"), "y")
	await(t, s, "second handoff", func(all []Persona) bool { return all[0].Handoffs == 2 })
}

func TestReloadFolders(t *testing.T) {
	t.Parallel()
	s, root := watched(t, nil, eventsOnly)
	list := func(want string) {
		t.Helper()
		await(t, s, want, func([]Persona) bool { return slugs(s) == want })
	}
	put(t, filepath.Join(root, "a-b-1/skill.md"), plain)
	await(t, s, "new folder", skillIs("Do it.\n"))
	must(t, os.Rename(filepath.Join(root, "a-b-1"), filepath.Join(root, "a-b-2")))
	list("a-b-2")
	put(t, filepath.Join(root, "a-b-2/skill.md"), skill("after the rename"))
	await(t, s, "write in a renamed folder", skillIs("after the rename"))
	must(t, os.MkdirAll(filepath.Join(root, ".archive"), 0o700))
	must(t, os.Rename(filepath.Join(root, "a-b-2"), filepath.Join(root, ".archive/a-b-2")))
	list("a-b-2 (archived)")
	must(t, os.Rename(filepath.Join(root, ".archive/a-b-2"), filepath.Join(root, "a-b-2")))
	list("a-b-2")
	put(t, filepath.Join(root, "a-b-2/skill.md"), skill("came back"))
	await(t, s, "write in a folder that came back", skillIs("came back"))
	must(t, os.RemoveAll(filepath.Join(root, "a-b-2")))
	list("")
}

// TestReloadBurst: every folder of a burst is noticed, with the files that are written into it at once.
func TestReloadBurst(t *testing.T) {
	t.Parallel()
	s, root := watched(t, nil, eventsOnly)
	const count = 200
	for i := range count {
		put(t, filepath.Join(root, Slug{"a", "b", i + 1}.String(), "skill.md"), plain)
	}
	await(t, s, "burst", func(all []Persona) bool {
		for _, p := range all {
			if p.Problem != "" {
				return false
			}
		}
		return len(all) == count
	})
}

// TestReloadPolls: a folder that cannot be watched, or not any more, is read again and again.
func TestReloadPolls(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*fsnotify.Watcher) error{
		"no inotify instance is left": func(w *fsnotify.Watcher) error { return errors.Join(w.Close(), errors.New("too many open files")) },
		"no watch is left": func(w *fsnotify.Watcher) error {
			err := w.Close() // now Add fails
			w.Events, w.Errors = nil, nil
			return err
		},
		"the watcher has ended": func(w *fsnotify.Watcher) error {
			w.Events, w.Errors = make(chan fsnotify.Event), nil
			close(w.Events)
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := folder(t, map[string]string{slug + "/skill.md": plain})
			s := openStore(t, root)
			s.newWatcher = func() (*fsnotify.Watcher, error) {
				w, err := fsnotify.NewWatcher()
				if err == nil {
					err = spoil(w)
				}
				return w, err
			}
			s.safety, s.polling = time.Hour, 5*time.Millisecond
			run(t, s)
			put(t, filepath.Join(root, slug, "skill.md"), skill("polled"))
			await(t, s, "polling", skillIs("polled"))
		})
	}
}

// TestPoll: a store that polls waits only for time, so it can run in a synctest bubble.
func TestPoll(t *testing.T) {
	t.Parallel()
	root := folder(t, map[string]string{slug + "/skill.md": plain})
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t, root)
		s.newWatcher = func() (*fsnotify.Watcher, error) { return nil, errors.New("none") }
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { _ = s.Run(ctx) })
		synctest.Wait()
		put(t, filepath.Join(root, slug, "skill.md"), skill("polled"))
		began := time.Now()
		<-s.Changed()
		if took := time.Since(began); took > 2*time.Second || !skillIs("polled")(s.List()) {
			t.Errorf("after %s: %+v", took, s.List())
		}
		stop()
		running.Wait()
	})
}

// TestWatchesAreDropped: a folder that is moved keeps the watch of its subfolder, unless that watch is dropped.
func TestWatchesAreDropped(t *testing.T) {
	t.Parallel()
	root := folder(t, map[string]string{slug + "/skill.md": plain, slug + "/handoffs/x.md": "x"})
	s := openStore(t, root)
	eventsOnly(s)
	var watcher *fsnotify.Watcher
	s.newWatcher = func() (w *fsnotify.Watcher, err error) {
		watcher, err = fsnotify.NewWatcher()
		return watcher, err
	}
	run(t, s)
	if got := watcher.WatchList(); len(got) != 3 {
		t.Fatalf("watched are %q, want the root, the persona and its handoffs", got)
	}
	must(t, s.Archive(t.Context(), slug))
	want := []string{root, filepath.Join(root, archive)}
	wardentest.Eventually(t, fmt.Sprintf("watched are only %q", want), func() bool {
		return slices.Equal(slices.Sorted(slices.Values(watcher.WatchList())), want)
	})
}

// deaf gives the store a watcher that reports only what the test sends.
func deaf(s *Store) (errs chan error) {
	errs = make(chan error)
	s.newWatcher = func() (*fsnotify.Watcher, error) {
		w, err := fsnotify.NewWatcher()
		if err == nil {
			w.Events, w.Errors = nil, errs
		}
		return w, err
	}
	return errs
}

func TestReloadAfterOverflow(t *testing.T) {
	t.Parallel()
	var errs chan error
	s, root := watched(t, map[string]string{slug + "/skill.md": plain}, func(s *Store) { eventsOnly(s); errs = deaf(s) })
	put(t, filepath.Join(root, slug, "skill.md"), skill("overflow"))
	errs <- fsnotify.ErrEventOverflow
	await(t, s, "overflow", skillIs("overflow"))
}

func TestReloadBySafetyNet(t *testing.T) {
	t.Parallel()
	s, root := watched(t, map[string]string{slug + "/skill.md": plain}, func(s *Store) { deaf(s); s.safety, s.polling = 5*time.Millisecond, time.Hour })
	put(t, filepath.Join(root, slug, "skill.md"), skill("scanned"))
	await(t, s, "safety net", skillIs("scanned"))
	must(t, os.RemoveAll(root))
	await(t, s, "folder gone", func(all []Persona) bool { return len(all) == 0 })
	put(t, filepath.Join(root, slug, "skill.md"), skill("new folder"))
	await(t, s, "folder back", skillIs("new folder"))
}

func TestRelevant(t *testing.T) {
	t.Parallel()
	s := &Store{root: "/p"}
	for name, want := range map[string]bool{
		"/p": true, "/p/a-b-1": true, "/p/.archive": true, "/p/.archive/a-b-1": true,
		"/p/a-b-1/skill.md": true, "/p/a-b-1/experience.md": true, "/p/a-b-1/handoffs": true, "/p/a-b-1/handoffs/x.md": true,
		"/p/a-b-1/.skill.md.swp": false, "/p/a-b-1/skill.md~": false, "/p/a-b-1/.#skill.md": false, "/p/a-b-1/#skill.md#": false,
		"/p/a-b-1/sedXyz": false, "/p/a-b-1/4913": false, "/p/a-b-1/handoffs/.x.md": false, "/p/a-b-1/.skill.md.X.tmp": false,
	} {
		equal(t, name, s.relevant(fsnotify.Event{Name: name, Op: fsnotify.Write}), want)
		if s.relevant(fsnotify.Event{Name: name, Op: fsnotify.Chmod}) {
			t.Errorf("%s: a mode change counts", name)
		}
	}
}
