package event

import (
	"encoding/json"

	"github.com/understudyd/understudy/data/secrets"
)

// Payload marshals the payload of an event. It panics if v cannot be marshalled, so the daemon passes only maps, strings
// and numbers. It masks the secrets in the texts, which may come from agents.
func Payload(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic("daemon: event payload: " + err.Error())
	}
	return json.RawMessage(secrets.Mask(string(b)))
}
