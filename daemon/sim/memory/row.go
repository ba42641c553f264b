package memory

import (
	"encoding/json"
	"reflect"
	"sync"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/storetext"
	"github.com/understudyd/understudy/data"
)

// clone returns a deep copy.
func clone[T any](v T) T { return copied(v, false) }

// kept returns a deep copy as the columns of PostgreSQL would give it back: times in microseconds, texts
// without what no text column can hold, lists that are not nil, and JSON that was written and read.
func kept[T any](v T) T { return copied(v, true) }

func copied[T any](v T, keep bool) T {
	var out T
	copyTo(reflect.ValueOf(&out).Elem(), reflect.ValueOf(&v).Elem(), keep)
	return out
}

// jsonColumns are the types that are stored as JSON.
var jsonColumns = map[reflect.Type]bool{
	reflect.TypeFor[daemon.ContextUse](): true, reflect.TypeFor[daemon.Trouble](): true, reflect.TypeFor[daemon.Structured](): true,
	reflect.TypeFor[daemon.Metrics](): true, reflect.TypeFor[daemon.Failure](): true,
	reflect.TypeFor[[]data.Message](): true, reflect.TypeFor[[]data.Reference](): true,
}

var (
	timeType = reflect.TypeFor[time.Time]()
	rawType  = reflect.TypeFor[json.RawMessage]()
)

func copyTo(to, from reflect.Value, keep bool) {
	switch typ := from.Type(); {
	case typ == timeType:
		to.Set(from)
		if keep {
			to.Set(reflect.ValueOf(micros(from.Interface().(time.Time))))
		}
		return
	case !keep:
	case typ == rawType:
		to.SetBytes(jsonb(from.Bytes()))
		return
	case jsonColumns[typ] && !(typ.Kind() == reflect.Slice && from.IsNil()):
		viaJSON(to, from)
		return
	}
	switch from.Kind() {
	case reflect.Struct:
		to.Set(from)
		for _, i := range fieldsOf(from.Type(), keep) {
			copyTo(to.Field(i), from.Field(i), keep)
		}
	case reflect.Pointer:
		to.SetZero()
		if !from.IsNil() {
			to.Set(reflect.New(from.Type().Elem()))
			copyTo(to.Elem(), from.Elem(), keep)
		}
	case reflect.Slice:
		copySlice(to, from, keep)
	case reflect.Map: // only inside JSON, whose keys and values are plain
		to.SetZero()
		if !from.IsNil() {
			to.Set(reflect.MakeMapWithSize(from.Type(), from.Len()))
			for _, key := range from.MapKeys() {
				to.SetMapIndex(key, from.MapIndex(key))
			}
		}
	case reflect.String:
		to.SetString(from.String())
		if keep {
			to.SetString(storetext.Text(from.String()))
		}
	default:
		to.Set(from)
	}
}

// fields caches what [fieldsOf] finds out.
var fields sync.Map

type fieldsKey struct {
	of   reflect.Type
	keep bool
}

// fieldsOf are the fields of a struct that are not copied by copying the struct: those that refer to something,
// and for a row that is kept those that a column may change as well.
func fieldsOf(typ reflect.Type, keep bool) []int {
	key := fieldsKey{typ, keep}
	if known, ok := fields.Load(key); ok {
		return known.([]int)
	}
	var list []int
	for i := range typ.NumField() {
		switch f := typ.Field(i).Type; f.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map:
			list = append(list, i)
		case reflect.Struct:
			if keep || f != timeType && len(fieldsOf(f, keep)) > 0 {
				list = append(list, i)
			}
		case reflect.String:
			if keep {
				list = append(list, i)
			}
		}
	}
	fields.Store(key, list)
	return list
}

func copySlice(to, from reflect.Value, keep bool) {
	to.SetZero()
	bytes := from.Type().Elem().Kind() == reflect.Uint8
	if from.IsNil() && (!keep || bytes) || keep && bytes && from.Len() == 0 {
		return // bytes may be NULL; an empty launch hash is none
	}
	to.Set(reflect.MakeSlice(from.Type(), from.Len(), from.Len()))
	if bytes {
		reflect.Copy(to, from)
		return
	}
	for i := range from.Len() {
		copyTo(to.Index(i), from.Index(i), keep)
	}
}

// viaJSON copies as a column of JSON does.
func viaJSON(to, from reflect.Value) {
	raw, err := json.Marshal(from.Interface())
	to.SetZero()
	if err == nil {
		err = json.Unmarshal(storetext.JSON(raw), to.Addr().Interface())
	}
	if err != nil {
		panic(err) // these types hold nothing that JSON can't
	}
}
