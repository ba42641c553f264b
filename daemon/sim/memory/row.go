package memory

import (
	"encoding/json"
	"reflect"
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
	case typ == rawType && keep:
		to.SetBytes(jsonb(from.Bytes()))
		return
	case jsonColumns[typ] && keep && !(typ.Kind() == reflect.Slice && from.IsNil()):
		viaJSON(to, from)
		return
	}
	switch from.Kind() {
	case reflect.Struct:
		for i := range from.NumField() {
			copyTo(to.Field(i), from.Field(i), keep)
		}
	case reflect.Pointer:
		if !from.IsNil() {
			to.Set(reflect.New(from.Type().Elem()))
			copyTo(to.Elem(), from.Elem(), keep)
		}
	case reflect.Slice:
		copySlice(to, from, keep)
	case reflect.Map: // only inside JSON, whose keys and values are plain
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

func copySlice(to, from reflect.Value, keep bool) {
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
	if err == nil {
		err = json.Unmarshal(storetext.JSON(raw), to.Addr().Interface())
	}
	if err != nil {
		panic(err) // these types hold nothing that JSON can't
	}
}
