package gemini

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/understudyd/understudy/daemon/runtimes"
)

// mergeSettings adds the settings of a launch to the user's own, which may have comments. With asks, the tools that the user lets
// run without asking are left out.
func mergeSettings(user []byte, ours map[string]any, asks bool) ([]byte, error) {
	settings := map[string]any{}
	if len(bytes.TrimSpace(user)) > 0 {
		d := json.NewDecoder(bytes.NewReader(withoutComments(user)))
		d.UseNumber()
		if err := d.Decode(&settings); err != nil {
			return nil, fmt.Errorf("the user's settings of Gemini CLI cannot be read: %w", err)
		}
	}
	if conf, ok := settings["hooksConfig"].(map[string]any); ok && conf["enabled"] == false {
		conf["enabled"] = true // else ours would not run
		delete(settings, "hooks")
	}
	if tools, ok := settings["tools"].(map[string]any); ok && asks {
		delete(tools, "allowed")
	}
	addSettings(settings, ours)
	return runtimes.Marshal(settings), nil
}

// addSettings adds what is in ours to settings: objects are merged, lists are joined, and other values replaced.
func addSettings(settings, ours map[string]any) {
	for key, value := range ours {
		switch value := value.(type) {
		case map[string]any:
			inner, ok := settings[key].(map[string]any)
			if !ok || inner == nil {
				inner = map[string]any{}
			}
			addSettings(inner, value)
			settings[key] = inner
		case []any:
			list, _ := settings[key].([]any)
			settings[key] = append(list, value...)
		default:
			settings[key] = value
		}
	}
}

// withoutComments puts a blank in the place of each comment of a JSON text. Comments begin with // or are between /* and */.
func withoutComments(text []byte) []byte {
	var out []byte
	for i := 0; i < len(text); {
		rest := text[i:]
		n, keep := 1, true
		switch {
		case rest[0] == '"':
			n = stringLength(rest)
		case bytes.HasPrefix(rest, []byte("//")):
			if n, keep = bytes.IndexByte(rest, '\n'), false; n < 0 {
				n = len(rest)
			}
		case bytes.HasPrefix(rest, []byte("/*")):
			if n, keep = bytes.Index(rest[2:], []byte("*/"))+4, false; n < 4 {
				n = len(rest)
			}
		}
		if keep {
			out = append(out, rest[:n]...)
		} else {
			out = append(out, ' ')
		}
		i += n
	}
	return out
}

// stringLength returns the length of the JSON string with which a text begins, with its quotes.
func stringLength(text []byte) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(text)
}
