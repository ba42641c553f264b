package sim

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/house"
)

// lock is a mutex of a daemon.
type lock struct {
	name string
	in   string // the type that declares it

	held *int32 // not 0 while the mutex is held; TryLock would be slow under the race detector, and hide races from it
}

// floorsOf adds the packages of a type and of the floors on which it stands.
func floorsOf(t reflect.Type, pkgs map[string]bool) {
	pkgs[t.PkgPath()] = true
	for f := range t.Fields() {
		if f.Anonymous && f.Type.Kind() == reflect.Pointer && f.Type.Elem().Kind() == reflect.Struct {
			floorsOf(f.Type.Elem(), pkgs)
		}
	}
}

// packagesOf are the packages of a daemon's floors and rooms.
func packagesOf() map[string]bool {
	pkgs := map[string]bool{}
	for f := range reflect.TypeFor[house.House]().Fields() {
		floorsOf(f.Type.Elem(), pkgs)
	}
	return pkgs
}

// locksOf finds the mutexes of a daemon and of its rooms: in their fields, and in the values of their packages to which they point.
func locksOf(h *house.House) (list []lock) {
	seen, rooms := map[uintptr]bool{}, packagesOf()
	var walk func(name, in string, v reflect.Value)
	walk = func(name, in string, v reflect.Value) {
		switch {
		case v.Type() == reflect.TypeFor[sync.Mutex]():
			list = append(list, lock{name, in, (*int32)(v.FieldByName("mu").FieldByName("state").Addr().UnsafePointer())})
		case v.Kind() == reflect.Struct:
			for field, f := range v.Fields() {
				of, _, _ := strings.Cut(v.Type().String(), "[")
				walk(name+"."+field.Name, of+"."+field.Name, f)
			}
		case v.Kind() == reflect.Pointer && !v.IsNil() && rooms[v.Type().Elem().PkgPath()]:
			if at := v.Pointer(); !seen[at] {
				seen[at] = true
				walk(name, in, v.Elem())
			}
		}
	}
	for field, f := range reflect.ValueOf(h).Elem().Fields() {
		walk(field.Name, "", f)
	}
	return list
}

// checkUnlocked: no goroutine holds a mutex of a daemon while it waits in a call. Otherwise the others would wait for as
// long as the database or tmux takes. The schedule calls checkUnlocked when all goroutines of the world are blocked.
func checkUnlocked(w *world) {
	for _, h := range w.hosts {
		if h.daemon == nil {
			continue
		}
		for _, l := range h.daemon.locks {
			if atomic.LoadInt32(l.held) != 0 {
				w.fail("%s: a goroutine calls the store, tmux or the like and holds the mutex %s", h.daemon.name, l.name)
			}
		}
	}
}

// TestLocks: locksOf finds every mutex that package daemon and the rooms declare.
func TestLocks(t *testing.T) {
	var files []string
	for pkg := range packagesOf() {
		_, dir, _ := strings.Cut(pkg, "/daemon")
		list := must(filepath.Glob(".." + dir + "/*.go"))
		files = append(files, list...)
	}
	declared := 0
	for _, file := range files {
		if match, _ := filepath.Match("*_test.go", filepath.Base(file)); match {
			continue
		}
		text := must(os.ReadFile(file))
		declared += len(regexp.MustCompile(`sync\.(RW)?Mutex`).FindAll(text, -1))
	}
	found := map[string]bool{}
	for _, l := range locksOf(house.New(engine.Config{})) {
		found[l.in] = true
	}
	if declared == 0 || len(found) != declared {
		t.Errorf("the packages declare %d mutexes, locksOf found %d: %v", declared, len(found), found)
	}
}
