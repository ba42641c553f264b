package scripted

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
)

// transcript appends entries to the JSONL file of a session, one entry a line, in Claude Code's format.
type transcript struct {
	mu     sync.Mutex // one goroutine writes a line
	parent string     // the uuid of the previous entry
	told   string     // the session in which the system prompt is recorded; only the worker uses it
	titled string     // the session in which the name is recorded; only the worker uses it

	tokens int    // of the conversation so far; mu guards this and the fields below
	fixed  int    // if it is not 0, each answer reports this context instead of the real one
	last   *usage // the usage of the newest answer; nil before the first answer
}

func transcriptPath(a *Agent, sessionID string) string {
	return filepath.Join(a.configDir, "projects", strings.ReplaceAll(a.Dir, "/", "-"), sessionID+".jsonl")
}

// record appends one entry. The first entry creates the file.
func (a *Agent) record(kind string, more fields) {
	id, promptID := a.ids()
	t := &a.transcript
	t.mu.Lock()
	defer t.mu.Unlock()
	path := transcriptPath(a, id)
	if t.parent == "" {
		t.parent = lastEntry(path) // a session that is opened again goes on behind its last entry
	}
	entry := fields{
		"type": kind, "uuid": uuid.NewString(), "parentUuid": nil, "isSidechain": false, "userType": "external",
		"timestamp": time.Now().UTC().Format("2006-01-02T15:04:05.000Z"), "sessionId": id, "cwd": a.Dir, "version": Version,
	}
	if t.parent != "" {
		entry["parentUuid"] = t.parent
	}
	if promptID != "" {
		entry["promptId"] = promptID
	}
	maps.Copy(entry, more)
	text, err := json.Marshal(entry)
	if err != nil || a.alive.Err() != nil || os.MkdirAll(filepath.Dir(path), 0o700) != nil {
		return
	}
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	defer file.Close()
	if _, err := file.Write(append(text, '\n')); err == nil {
		t.parent, _ = entry["uuid"].(string)
		a.wrote(path)
	}
}

// lastEntry returns the uuid of the last entry of a transcript; "": there is none.
func lastEntry(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	var last struct{ UUID string }
	_ = json.Unmarshal([]byte(lines[len(lines)-1]), &last)
	return last.UUID
}

// recordSystemPrompt writes the text of --append-system-prompt-file once into each session.
func recordSystemPrompt(a *Agent) {
	id, _ := a.ids()
	if a.opt.SystemPrompt != "" && a.transcript.told != id {
		a.transcript.told = id
		a.record("system", fields{"subtype": "append_system_prompt", "content": a.opt.SystemPrompt})
	}
}

// recordTitle writes the session's name once into each session.
func recordTitle(a *Agent) {
	id, _ := a.ids()
	if a.opt.Name != "" && a.transcript.titled != id {
		a.transcript.titled = id
		a.record("custom-title", fields{"customTitle": a.opt.Name})
	}
}

// recordPrompt writes the prompt that begins a turn.
func (a *Agent) recordPrompt(prompt string, from origin) {
	source := "typed"
	if from == queued {
		source = "queued"
	}
	a.recordUser(prompt, fields{"origin": fields{"kind": "human"}, "promptSource": source, "turnOrigin": "human"})
}

// recordUser writes a text of the person, or a list of tool results.
func (a *Agent) recordUser(content any, more fields) {
	entry := fields{"message": fields{"role": "user", "content": content}, "permissionMode": a.opt.permissionMode}
	maps.Copy(entry, more)
	if text, ok := content.(string); ok {
		a.transcript.spend(len(text) / 4)
	}
	a.record("user", entry)
}

// recordAssistant writes one block of an answer: {"type":"text"} or {"type":"tool_use"}. Blocks of one
// answer share its id.
func (a *Agent) recordAssistant(id string, block fields, stopReason any) {
	a.record("assistant", fields{
		"requestId": "req_" + uuid.NewString(), "apiBlockIndex": 0, "madeBy": "model",
		"message": message(id, a.opt.model, block, stopReason, a.transcript.bill(block)),
	})
}

// recordTrouble writes an error of the API instead of an answer.
func recordTrouble(a *Agent, e *APIError) {
	a.record("assistant", fields{
		"isApiErrorMessage": true, "error": e.Kind, "apiErrorStatus": e.Status, "apiErrorType": e.Kind + "_error", "madeBy": "model",
		"message": message(newMessageID(), synthetic, fields{"type": "text", "text": e.Message}, "stop_sequence", usage{}),
	})
}

// synthetic is the name of the model in messages that Claude Code itself writes.
const synthetic = "<synthetic>"

// message returns an answer of the API with one block.
func message(id, model string, block fields, stopReason any, used usage) fields {
	return fields{
		"id": id, "type": "message", "role": "assistant", "model": model,
		"content": []fields{block}, "stop_reason": stopReason, "stop_sequence": nil, "usage": used,
	}
}

func newMessageID() string { return "msg_" + uuid.NewString() }

// recordContext writes the context that a hook gave to the model.
func recordContext(a *Agent, event, text string) {
	if text == "" {
		return
	}
	a.record("attachment", fields{"attachment": fields{
		"type": "hook_additional_context", "hookEvent": event, "hookName": event, "content": []string{text},
	}})
}
