package db

import (
	"encoding/json"

	"github.com/understudyd/understudy/daemon/storetext"
)

// storable replaces, in place, what PostgreSQL cannot store in the strings among a statement's arguments.
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

// storableTexts does so for a list. It never returns nil, because nil would be NULL.
func storableTexts(texts []string) []string {
	out := make([]string, len(texts))
	for i, s := range texts {
		out[i] = storetext.Text(s)
	}
	return out
}

// marshalStorable is json.Marshal without what a jsonb column cannot store.
func marshalStorable(v any) ([]byte, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return storetext.JSON(raw), nil
}
