package event

import (
	"encoding/json"
)

// Payload marshals values that cannot fail to: maps, strings and numbers of our own.
func Payload(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic("daemon: event payload: " + err.Error())
	}
	return b
}
