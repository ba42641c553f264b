package event

import (
	"encoding/json"
)

// Payload marshals values of our own that cannot fail to marshal: maps, strings and numbers.
func Payload(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic("daemon: event payload: " + err.Error())
	}
	return b
}
