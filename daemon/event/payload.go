package event

import (
	"encoding/json"

	"github.com/understudyd/understudy/data/secrets"
)

// Payload is JSON for the payload of an event. It masks the secrets in the texts, which may come from agents.
func Payload(v any) json.RawMessage {
	return json.RawMessage(secrets.Mask(string(JSON(v))))
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
