package sim

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/house"
	"github.com/understudyd/understudy/daemon/intake"
)

// lock is a mutex of a daemon.
type lock struct {
	name string
	mu   *sync.Mutex
}

// locksOf finds the mutexes of a daemon and of its rooms: in their fields, and in the values of their packages to which they point.
func locksOf(h *house.House) (list []lock) {
	seen, rooms := map[uintptr]bool{}, map[string]bool{reflect.TypeFor[intake.Daemon]().PkgPath(): true}
	for _, f := range reflect.ValueOf(h).Elem().Fields() {
		rooms[f.Type().Elem().PkgPath()] = true
	}
	var walk func(name string, v reflect.Value)
	walk = func(name string, v reflect.Value) {
		switch {
		case v.Type() == reflect.TypeFor[sync.Mutex]():
			list = append(list, lock{name, (*sync.Mutex)(v.Addr().UnsafePointer())})
		case v.Kind() == reflect.Struct:
			for field, f := range v.Fields() {
				walk(name+"."+field.Name, f)
			}
		case v.Kind() == reflect.Pointer && !v.IsNil() && rooms[v.Type().Elem().PkgPath()]:
			if at := v.Pointer(); !seen[at] {
				seen[at] = true
				walk(name, v.Elem())
			}
		}
	}
	for field, f := range reflect.ValueOf(h).Elem().Fields() {
		walk(field.Name, f)
	}
	return list
}

// checkUnlocked: no goroutine holds a mutex of a daemon while it waits in a call. Otherwise the others would wait for as
// long as the database or tmux takes. The schedule calls checkUnlocked when all goroutines of the world are blocked.
func (w *world) checkUnlocked() {
	for _, h := range w.hosts {
		if h.daemon == nil {
			continue
		}
		for _, l := range h.daemon.locks {
			if !l.mu.TryLock() {
				w.fail("%s: a goroutine calls the store, tmux or the like and holds the mutex %s", h.daemon.name, l.name)
				continue
			}
			l.mu.Unlock()
		}
	}
}

// TestLocks: locksOf finds every mutex that package daemon and the rooms declare.
func TestLocks(t *testing.T) {
	var files []string
	for i := range reflect.TypeFor[house.House]().NumField() {
		_, dir, _ := strings.Cut(reflect.TypeFor[house.House]().Field(i).Type.Elem().PkgPath(), "/daemon")
		list, err := filepath.Glob(".." + dir + "/*.go")
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, list...)
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
	if found := locksOf(house.New(engine.Config{})); declared == 0 || len(found) != declared {
		t.Errorf("the packages declare %d mutexes, locksOf found %d: %v", declared, len(found), found)
	}
}
