package sim

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"sync"
	"testing"

	"github.com/understudyd/understudy/daemon"
)

// lock is a mutex of a daemon.
type lock struct {
	name string
	mu   *sync.Mutex
}

// locksOf finds the mutexes of a daemon: in its fields, and in what of its own package these point to.
func locksOf(d *daemon.Daemon) (list []lock) {
	seen := map[uintptr]bool{}
	var walk func(name string, v reflect.Value)
	walk = func(name string, v reflect.Value) {
		switch {
		case v.Type() == reflect.TypeFor[sync.Mutex]():
			list = append(list, lock{name, (*sync.Mutex)(v.Addr().UnsafePointer())})
		case v.Kind() == reflect.Struct:
			for field, f := range v.Fields() {
				walk(name+"."+field.Name, f)
			}
		case v.Kind() == reflect.Pointer && !v.IsNil() && v.Type().Elem().PkgPath() == reflect.TypeFor[daemon.Daemon]().PkgPath():
			if at := v.Pointer(); !seen[at] {
				seen[at] = true
				walk(name, v.Elem())
			}
		}
	}
	walk("Daemon", reflect.ValueOf(d))
	return list
}

// unlocked checks that nobody waits with a mutex in hand: what calls a seam under one has others wait for as long as the
// database or tmux takes. All goroutines of the world are blocked when it looks.
func (w *world) unlocked() {
	for _, h := range w.hosts {
		if h.gen == nil {
			continue
		}
		for _, l := range h.gen.locks {
			if !l.mu.TryLock() {
				w.fail("%s: a call across a seam is made under the mutex %s", h.gen.name, l.name)
				continue
			}
			l.mu.Unlock()
		}
	}
}

// TestLocks: every mutex that the package declares is looked at.
func TestLocks(t *testing.T) {
	files, err := filepath.Glob("../*.go")
	if err != nil {
		t.Fatal(err)
	}
	declared := 0
	for _, file := range files {
		if match, _ := filepath.Match("*_test.go", filepath.Base(file)); match {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		declared += len(regexp.MustCompile(`sync\.(RW)?Mutex`).FindAll(text, -1))
	}
	if found := locksOf(daemon.New(daemon.Config{})); declared == 0 || len(found) != declared {
		t.Errorf("the package declares %d mutexes, a daemon was found to have %d: %v", declared, len(found), found)
	}
}
