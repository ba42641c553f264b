package scripted

import (
	"bufio"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
)

// transcript appends to the JSONL file of a session, one entry a line, in Claude Code's shape.
type transcript struct {
	mu     sync.Mutex // one line at a time
	parent string     // uuid of the entry before
	told   string     // the session that has the system prompt recorded; the worker alone uses it
	tokens int        // what the conversation would have cost so far
}

// baseTokens is about what Claude Code's own system prompt and tools take.
const baseTokens = 14000

func (a *agent) transcriptPath(sessionID string) string {
	return filepath.Join(a.configDir, "projects", strings.ReplaceAll(a.cwd, "/", "-"), sessionID+".jsonl")
}

// record appends one entry. The file appears with the first one.
func (a *agent) record(kind string, more fields) {
	id, promptID := a.ids()
	t := &a.transcript
	t.mu.Lock()
	defer t.mu.Unlock()
	entry := fields{
		"type": kind, "uuid": uuid.NewString(), "parentUuid": nil, "isSidechain": false, "userType": "external",
		"timestamp": time.Now().UTC().Format("2006-01-02T15:04:05.000Z"), "sessionId": id, "cwd": a.cwd, "version": version,
	}
	if t.parent != "" {
		entry["parentUuid"] = t.parent
	}
	if promptID != "" {
		entry["promptId"] = promptID
	}
	maps.Copy(entry, more)
	text, err := json.Marshal(entry)
	path := a.transcriptPath(id)
	if err != nil || os.MkdirAll(filepath.Dir(path), 0o700) != nil {
		return
	}
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	defer file.Close()
	if _, err := file.Write(append(text, '\n')); err == nil {
		t.parent, _ = entry["uuid"].(string)
	}
}

// recordSystemPrompt writes the text of --append-system-prompt-file once into each session.
func (a *agent) recordSystemPrompt() {
	id, _ := a.ids()
	if a.opt.systemPrompt != "" && a.transcript.told != id {
		a.transcript.told = id
		a.record("system", fields{"subtype": "append_system_prompt", "content": a.opt.systemPrompt})
	}
}

// recordUser writes what came from the person (content is text) or from a tool (a list of results).
func (a *agent) recordUser(content any, more fields) {
	entry := fields{"message": fields{"role": "user", "content": content}, "permissionMode": a.opt.permissionMode}
	maps.Copy(entry, more)
	if text, ok := content.(string); ok {
		a.spend(len(text) / 4)
	}
	a.record("user", entry)
}

// recordAssistant writes one block of an answer: {"type":"text"} or {"type":"tool_use"}.
func (a *agent) recordAssistant(block fields, stopReason any) {
	output := 20
	if text, ok := block["text"].(string); ok {
		output = len(text)/4 + 1
	}
	before := a.spend(output)
	a.record("assistant", fields{
		"requestId": "req_" + uuid.NewString(),
		"message": fields{
			"id": "msg_" + uuid.NewString(), "type": "message", "role": "assistant", "model": a.opt.model,
			"content": []fields{block}, "stop_reason": stopReason, "stop_sequence": nil,
			"usage": fields{
				"input_tokens": 4, "cache_creation_input_tokens": before,
				"cache_read_input_tokens": baseTokens, "output_tokens": output,
			},
		},
	})
}

// recordContext writes what a hook told the model.
func (a *agent) recordContext(event, text string) {
	if text == "" {
		return
	}
	a.record("attachment", fields{"attachment": fields{
		"type": "hook_additional_context", "hookEvent": event, "hookName": event, "content": []string{text},
	}})
}

// spend adds tokens and returns how many there were before.
func (a *agent) spend(tokens int) int {
	a.transcript.mu.Lock()
	defer a.transcript.mu.Unlock()
	before := a.transcript.tokens
	a.transcript.tokens += tokens
	return before
}

// recall reads the prompts of an earlier session, oldest first; no session is an error.
func (a *agent) recall(sessionID string) ([]string, error) {
	file, err := os.Open(a.transcriptPath(sessionID))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var prompts []string
	lines := bufio.NewReader(file)
	for {
		line, err := lines.ReadBytes('\n')
		var entry struct {
			Type    string `json:"type"`
			IsMeta  bool   `json:"isMeta"`
			Message struct {
				Content any `json:"content"`
			} `json:"message"`
		}
		if json.Unmarshal(line, &entry) == nil && entry.Type == "user" && !entry.IsMeta {
			if text, ok := entry.Message.Content.(string); ok {
				prompts = append(prompts, text)
			}
		}
		if err != nil {
			return prompts, nil
		}
	}
}
