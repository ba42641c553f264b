package db

import (
	"encoding/json"

	"github.com/understudyd/understudy/daemon/storetext"
)

// storable passes the strings among a statement's arguments through [storetext.Text], which replaces the bytes that
// PostgreSQL cannot store. It changes args itself and returns it.
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

// storableTexts returns the texts with the replacements of [storetext.Text]. The list is never nil, because nil would
// be stored as NULL.
func storableTexts(texts []string) []string {
	out := make([]string, len(texts))
	for i, s := range texts {
		out[i] = storetext.Text(s)
	}
	return out
}

// marshalStorable is json.Marshal, with the replacements of [storetext.JSON], because a jsonb column refuses NUL.
func marshalStorable(v any) ([]byte, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return storetext.JSON(raw), nil
}
