package db

import (
	"encoding/json"

	"github.com/understudyd/understudy/daemon/storetext"
)

// storable makes the strings among a statement's arguments fit for PostgreSQL, in place.
func storable(args ...any) []any {
	for i, arg := range args {
		switch v := arg.(type) {
		case string:
			args[i] = storetext.Text(v)
		case *string:
			if v != nil {
				args[i] = storetext.Text(*v)
			}
		case []string:
			args[i] = storableTexts(v)
		}
	}
	return args
}

// storableTexts returns a list that is never nil, because nil would be NULL.
func storableTexts(texts []string) []string {
	out := make([]string, len(texts))
	for i, s := range texts {
		out[i] = storetext.Text(s)
	}
	return out
}

// marshalStorable is json.Marshal for a jsonb column.
func marshalStorable(v any) ([]byte, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return storetext.JSON(raw), nil
}
