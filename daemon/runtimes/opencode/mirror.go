package opencode

import (
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/runtimes/claude"
)

// Mirror returns the conversation in the form of Claude Code's transcript, without the messages that OpenCode may still change, unless
// unfinished is set.
//
// It has the prompts that no turn has taken, too, marked as unread. If a turn is aborted, OpenCode drops the prompts that are queued behind
// it: it never answers them, and the model reads them with the next prompt of the session, if there is one (measured). Such a prompt waits
// for an answer that the model is still giving, also after a retry, and its line stays as long as it is when the mark changes, because readers
// go on where they were in the file. At a usage limit the turn is about to be aborted.
func (s *Sight) Mirror(now time.Time, unfinished bool) []byte {
	lines, read, gap := []byte{}, s.read(), false
	limited, _ := s.isLimited(now)
	for i := range s.Messages {
		m := &s.Messages[i]
		if m.Info.ID == s.Reverted {
			break // a person has taken back what comes now
		}
		whole, unread := m.whole(), i >= read && m.Info.Role == "user" && m.isPrompt() && !s.refused(i)
		if unfinished || whole && !(unread && gap) {
			lines = append(lines, m.Lines(s.Session, whole, unread)...)
		}
		gap = gap || !whole && s.Status.Type != "" && !limited
	}
	return lines
}

// read returns how many messages the model has been given at least: those up to the newest prompt that it has answered.
func (s *Sight) read() (n int) {
	answered := map[string]bool{}
	for i := range s.Messages {
		answered[s.Messages[i].Info.ParentID] = true
	}
	for i := range s.Messages {
		if m := &s.Messages[i]; m.Info.Role == "user" && answered[m.Info.ID] {
			n = i + 1
		}
	}
	return n
}

// Lines returns the lines by which the mirror shows a message: the message, and then the results of the calls of tools that failed, or
// that may have read a file. whole says that the message will not change any more, and unread that the model has not been given it.
func (m *Message) Lines(session string, whole, unread bool) []byte {
	at := time.UnixMilli(m.Info.Time.Created).UTC().Format("2006-01-02T15:04:05.000Z")
	var out []byte
	add := func(line map[string]any) {
		line["timestamp"], line["sessionId"] = at, session
		b, _ := json.Marshal(line) // texts and numbers cannot fail
		out = append(append(out, b...), '\n')
	}
	var content, results []map[string]any
	for _, p := range m.Parts {
		switch {
		case p.Type == "text" && !p.Ignored && p.Text != "" && (m.Info.Role == "assistant" || !p.Synthetic):
			content = append(content, map[string]any{"type": "text", "text": p.Text})
		case p.Type == "tool":
			content = append(content, map[string]any{"type": "tool_use", "id": p.CallID, "name": tool(p.Tool),
				"input": p.input()})
			switch {
			case p.State.Status == "error":
				results = append(results, map[string]any{"type": "tool_result", "tool_use_id": p.CallID, "is_error": true})
			case p.State.Status == "completed" && reads.Has(p.Tool):
				results = append(results, map[string]any{"type": "tool_result", "tool_use_id": p.CallID})
			}
		}
	}
	switch {
	case m.isSummary() && whole:
		add(map[string]any{"type": "system", "subtype": "compact_boundary", "compactMetadata": map[string]int64{"postTokens": 0}})
		add(map[string]any{"type": "user", "isCompactSummary": true, "message": map[string]any{"role": "user", "id": m.Info.ID,
			"model": m.Info.Model, "content": content, "used": m.Info.spent()}})
	case m.isSummary():
	case m.Info.Role == "user" && m.isPrompt():
		mark := json.RawMessage("null")
		if unread {
			mark = json.RawMessage("true")
		}
		add(map[string]any{"type": "user", "uuid": m.Info.ID, "chosenModel": m.choice(), "unreadPrompt": mark,
			"message": map[string]any{"role": "user", "content": content}})
	case m.Info.Role == "assistant":
		add(map[string]any{"type": "assistant", "uuid": m.Info.ID, "message": map[string]any{"role": "assistant", "id": m.Info.ID,
			"model": m.Info.Model, "content": content, "usage": map[string]int64{"input_tokens": m.Info.Tokens.used()},
			"used": m.Info.spent()}})
	}
	if len(results) > 0 {
		add(map[string]any{"type": "user", "message": map[string]any{"role": "user", "content": results}})
	}
	return out
}

// choice returns the model that is to answer a user's message; "": the message does not say.
func (m *Message) choice() string {
	var c struct {
		Provider string `json:"providerID"`
		Model    string `json:"modelID"`
	}
	if json.Unmarshal(m.Info.Choice, &c) != nil || c.Provider == "" || c.Model == "" {
		return ""
	}
	return c.Provider + "/" + c.Model
}

// whole reports whether a message will not change any more.
func (m *Message) whole() bool {
	return m.Info.Role == "user" || m.Info.Finish != "" || m.Info.Error != nil || m.Info.Time.Completed != 0
}

// input returns the input of a tool's call as the mirror shows it.
func (p *Part) input() map[string]any {
	in := map[string]any{"file_path": p.State.Input.FilePath}
	if p.State.Input.Command != "" {
		in["command"] = p.State.Input.Command
	}
	if len(p.State.Input.Todos) > 0 {
		in["todos"] = p.State.Input.Todos
	}
	return in
}

// tool returns Claude Code's name of a tool that changes files or the list of todos.
func tool(name string) string {
	switch name {
	case "edit", "multiedit":
		return "Edit"
	case "write":
		return "Write"
	case "todowrite":
		return "TodoWrite"
	}
	return name
}

// Title returns the title of an agent's session. It names the agent for people, and the launch for the daemon, which finds
// the session by it if nobody has noted its id.
func Title(name string, agentID int64, launch string) string {
	return name + " (understudy " + strconv.FormatInt(agentID, 10) + "-" + launch + ")"
}

// Answer returns the texts of an answer of the model. It fails if the answer reports an error.
func (m *Message) Answer() ([]string, error) {
	if e := m.Info.Error; e != nil {
		return nil, errors.New(runtimes.FirstOf(e.Data.Message, e.Name))
	}
	if text := m.text(); text != "" {
		return []string{text}, nil
	}
	return nil, nil
}

// spent returns what an answer has used. OpenCode counts the reasoning beside the output.
func (m *Info) spent() claude.Spent {
	t := m.Tokens
	return claude.Spent{
		Tokens: runtimes.Tokens{Input: t.Input, Output: t.Output + t.Reasoning, CacheRead: t.Cache.Read, CacheWrite: t.Cache.Write, Reasoning: t.Reasoning},
		Micros: runtimes.Cost(m.Cost),
	}
}
