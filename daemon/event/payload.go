package event

import (
	"bytes"
	"encoding/json"

	"github.com/understudyd/understudy/data/secrets"
)

// Payload is JSON for the payload of an event. It masks the secrets in the texts, which may come from agents.
func Payload(v any) json.RawMessage {
	b := JSON(v)
	var tree any
	read := json.NewDecoder(bytes.NewReader(b))
	read.UseNumber()
	if err := read.Decode(&tree); err != nil {
		panic("daemon: event payload: " + err.Error())
	}
	if tree, changed := masked(tree); changed {
		return JSON(tree)
	}
	return b
}

// masked masks the texts in a value of JSON.
func masked(v any) (safe any, changed bool) {
	switch v := v.(type) {
	case string:
		safe := secrets.Mask(v)
		return safe, safe != v
	case []any:
		for i, member := range v {
			if safe, c := masked(member); c {
				v[i], changed = safe, true
			}
		}
	case map[string]any:
		for name, member := range v {
			if safe, c := masked(member); c {
				v[name], changed = safe, true
			}
		}
	}
	return v, changed
}

// JSON marshals the answer to a hook, or the body of a hook that the daemon makes. It panics if v cannot be marshalled, so the daemon passes only
// maps, strings and numbers.
func JSON(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic("daemon: event payload: " + err.Error())
	}
	return b
}
