package memory

import (
	"encoding/json"
	"reflect"
	"sync"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/storetext"
	"github.com/understudyd/understudy/daemon/worktree"
	"github.com/understudyd/understudy/data"
)

// clone returns a deep copy.
func clone[T any](v T) T {
	separate(reflect.ValueOf(&v).Elem())
	return v
}

// kept returns a deep copy as PostgreSQL would return the row: times in microseconds, texts without the bytes that no
// text column can hold, lists that are not nil, and JSON columns after a round trip.
func kept[T any](v T) T {
	var out T
	keep(reflect.ValueOf(&out).Elem(), reflect.ValueOf(&v).Elem())
	return out
}

// separate replaces everything to which v refers by copies. Simulations do this more often than anything else, so it
// copies the most common types without reflection.
func separate(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for _, i := range referring(v.Type()) {
			separate(v.Field(i))
		}
	case reflect.Pointer:
		switch p := v.Addr().Interface().(type) {
		case **int64:
			renew(p)
		case **string:
			renew(p)
		case **time.Time:
			renew(p)
		default:
			if !v.IsNil() {
				own := reflect.New(v.Type().Elem())
				own.Elem().Set(v.Elem())
				separate(own.Elem())
				v.Set(own)
			}
		}
	case reflect.Slice:
		if v.IsNil() {
			return
		}
		own := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		reflect.Copy(own, v)
		for i := range own.Len() {
			if !refers(v.Type().Elem()) {
				break
			}
			separate(own.Index(i))
		}
		v.Set(own)
	case reflect.Map:
		copyMap(v, v)
	}
}

// renew replaces the value behind a pointer by a copy.
func renew[T any](p **T) {
	if *p != nil {
		own := **p
		*p = &own
	}
}

// referrers caches the results of [referring].
var referrers sync.Map

// referring returns the indexes of the fields that a copy of the struct still shares with it.
func referring(typ reflect.Type) []int {
	if known, ok := referrers.Load(typ); ok {
		return known.([]int)
	}
	var list []int
	for i := range typ.NumField() {
		if refers(typ.Field(i).Type) {
			list = append(list, i)
		}
	}
	referrers.Store(typ, list)
	return list
}

// refers reports whether a plain copy of a value of this type shares something with it.
func refers(typ reflect.Type) bool {
	switch typ.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		return true
	case reflect.Struct:
		return typ != timeType && len(referring(typ)) > 0
	}
	return false
}

// jsonColumns are the types that are stored as JSON.
var jsonColumns = map[reflect.Type]bool{
	reflect.TypeFor[daemon.ContextUse](): true, reflect.TypeFor[daemon.Trouble](): true, reflect.TypeFor[daemon.Hold](): true, reflect.TypeFor[daemon.Limit](): true, reflect.TypeFor[daemon.DialogAnswer](): true, reflect.TypeFor[daemon.KeysTaken](): true, reflect.TypeFor[runtimes.Account](): true, reflect.TypeFor[worktree.Base](): true,
	reflect.TypeFor[daemon.TreeTask](): true, reflect.TypeFor[daemon.TreeOutcome](): true, reflect.TypeFor[[]worktree.Copied](): true,
	reflect.TypeFor[daemon.Structured](): true,
	reflect.TypeFor[daemon.Metrics]():    true, reflect.TypeFor[daemon.Failure](): true,
	reflect.TypeFor[[]data.Message](): true, reflect.TypeFor[[]data.Reference](): true,
}

var (
	timeType = reflect.TypeFor[time.Time]()
	rawType  = reflect.TypeFor[json.RawMessage]()
)

func keep(to, from reflect.Value) {
	typ := from.Type()
	switch {
	case typ == timeType:
		to.Set(reflect.ValueOf(micros(from.Interface().(time.Time))))
		return
	case typ == rawType:
		to.SetBytes(jsonb(from.Bytes()))
		return
	case jsonColumns[typ] && !(typ.Kind() == reflect.Slice && from.IsNil()):
		viaJSON(to, from)
		return
	}
	switch from.Kind() {
	case reflect.Struct:
		for i := range from.NumField() {
			keep(to.Field(i), from.Field(i))
		}
	case reflect.Pointer:
		if !from.IsNil() {
			to.Set(reflect.New(typ.Elem()))
			keep(to.Elem(), from.Elem())
		}
	case reflect.Slice:
		keepSlice(to, from)
	case reflect.Map: // occurs only inside JSON columns, and its keys and values refer to nothing
		copyMap(to, from)
	case reflect.String:
		to.SetString(storetext.Text(from.String()))
	default:
		to.Set(from)
	}
}

func copyMap(to, from reflect.Value) {
	if from.IsNil() {
		return
	}
	own := reflect.MakeMapWithSize(from.Type(), from.Len())
	for _, key := range from.MapKeys() {
		own.SetMapIndex(key, from.MapIndex(key))
	}
	to.Set(own)
}

func keepSlice(to, from reflect.Value) {
	bytes := from.Type().Elem().Kind() == reflect.Uint8
	if bytes && from.Len() == 0 {
		return // empty bytes become NULL: an empty launch hash means no launch
	}
	to.Set(reflect.MakeSlice(from.Type(), from.Len(), from.Len()))
	if bytes {
		reflect.Copy(to, from)
		return
	}
	for i := range from.Len() {
		keep(to.Index(i), from.Index(i))
	}
}

// viaJSON copies a value by writing and reading it as JSON, as a jsonb column does.
func viaJSON(to, from reflect.Value) {
	raw, err := json.Marshal(from.Interface())
	to.SetZero()
	if err == nil {
		err = json.Unmarshal(storetext.JSON(raw), to.Addr().Interface())
	}
	if err != nil {
		panic(err) // cannot happen: JSON can hold all values of these types
	}
}
