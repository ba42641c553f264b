package event

import (
	"encoding/json"
)

// Payload marshals the payload of an event. It panics if v cannot be marshalled, so the daemon passes only maps, strings
// and numbers.
func Payload(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic("daemon: event payload: " + err.Error())
	}
	return b
}
