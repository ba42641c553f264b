package runtimes

import (
	"encoding/json"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Tokens counts tokens by their kind. A token is in one kind only, except that those of Reasoning are in Output as well.
type Tokens struct {
	Input      int64 `json:"input"` // without those from the cache
	Output     int64 `json:"output"`
	CacheRead  int64 `json:"cache_read"`
	CacheWrite int64 `json:"cache_write"`
	Reasoning  int64 `json:"reasoning"` // 0: none, or the runtime does not tell
}

// Total returns how many tokens were read or written.
func (t Tokens) Total() int64 { return t.Input + t.Output + t.CacheRead + t.CacheWrite }

// Add adds the tokens of u.
func (t *Tokens) Add(u Tokens) {
	t.Input += u.Input
	t.Output += u.Output
	t.CacheRead += u.CacheRead
	t.CacheWrite += u.CacheWrite
	t.Reasoning += u.Reasoning
}

// Usage is what one answer of a model has used.
type Usage struct {
	// Key is the same in each line, and in each copy of a line, that tells of the same answer, and different for every other
	// answer of the runtime.
	Key   string
	Model string // "": the line does not tell
	At    time.Time
	Tokens
	Micros *int64 // the cost in millionths of a US dollar, as the runtime tells it; nil: it does not tell
}

// Usage returns what a line of the transcript at path says an answer has used; ok is false for all other lines. The line of
// a sub-agent counts. If the answer's line is repeated, the greatest numbers count: a CLI may write the first lines of an
// answer before it knows them all. For a line that only chooses the model of the answers after it, ok is false and
// u.Model is set.
func (rt *Runtime) Usage(path string, line []byte) (u Usage, ok bool) {
	l, err := rt.line(line)
	if err != nil {
		return Usage{}, false
	}
	u = l.message.spent
	u.At = l.at
	if u.Model == "" {
		u.Model = l.chosen
	}
	if l.kind != "assistant" && !l.summary || l.message.model == synthetic || u.Tokens == (Tokens{}) && (u.Micros == nil || *u.Micros == 0) {
		u.Key = ""
		return u, false
	}
	if l.message.model != "" {
		u.Model = l.message.model
	}
	u.Key, ok = l.usageKey(path)
	return u, ok
}

// usageKey returns the key of an answer. Anthropic's API gives each answer an id of its own, which is the same in all copies of
// a session and in the transcripts of its sub-agents, whatever request a line names. Another id counts with its request; without
// one, the name of the session's file goes before it.
func (l *transcriptLine) usageKey(path string) (key string, ok bool) {
	m := &l.message
	switch {
	case m.spent.Key != "":
		return filepath.Base(path) + "/" + m.spent.Key, true
	case m.id == "":
		return "", false
	case l.request != "" && strings.HasPrefix(m.id, "msg_"):
		return m.id, true
	case l.request != "":
		return m.id + "/" + l.request, true
	}
	return filepath.Base(path) + "/" + m.id, true
}

// UsageDir returns the folder below which the transcripts of a session's sub-agents are, in folders of any depth; "": there is
// none, or it is not known.
func (rt *Runtime) UsageDir(transcript string) string {
	dir := strings.TrimSuffix(transcript, ".jsonl")
	if !rt.Can.SubagentFiles || dir == transcript {
		return ""
	}
	return dir
}

// NotUsage is the name of a folder below [Runtime.UsageDir] with the output of tools, which may be a copy of any file.
const NotUsage = "tool-results"

// Micros returns dollars as millionths of a dollar; ok is false if that is not a cost.
func Micros(dollars float64) (micros int64, ok bool) {
	if math.IsNaN(dollars) || dollars < 0 || dollars > 1e9 {
		return 0, false
	}
	return int64(math.Round(dollars * 1e6)), true
}

// dollars reads the next value as a cost in dollars; nil: it is not a cost.
func (s *skim) dollars() *int64 {
	var v *float64
	if json.Unmarshal(s.raw(), &v) != nil || v == nil {
		return nil
	}
	if micros, ok := Micros(*v); ok {
		return &micros
	}
	return nil
}

// readClaudeUsage reads the usage of an answer.
func (m *message) readClaudeUsage(s *skim) {
	s.object(func(key string) {
		switch key {
		case "input_tokens":
			m.spent.Input = s.number()
			m.used += m.spent.Input
		case "cache_creation_input_tokens":
			m.spent.CacheWrite = s.number()
			m.used += m.spent.CacheWrite
		case "cache_read_input_tokens":
			m.spent.CacheRead = s.number()
			m.used += m.spent.CacheRead
		case "output_tokens":
			m.spent.Output = s.number()
		}
	})
}

// readCodexUsage reads the usage of the answer that a line with token_count reports. The CLI counts tokens from the cache
// among those of the input, and those of the reasoning among those of the output.
func readCodexUsage(s *skim) (u Usage, total int64) {
	s.object(func(key string) {
		switch key {
		case "input_tokens":
			u.Input = s.number()
		case "cached_input_tokens":
			u.CacheRead = s.number()
		case "cache_write_input_tokens":
			u.CacheWrite = s.number()
		case "output_tokens":
			u.Output = s.number()
		case "reasoning_output_tokens":
			u.Reasoning = s.number()
		case "total_tokens":
			total = s.number()
		}
	})
	u.Input = max(0, u.Input-u.CacheRead-u.CacheWrite)
	return u, total
}

// keyCodexUsage makes the key of such an answer from the tokens of the whole session: the CLI repeats the line when it learns only
// how much of a limit is left.
func keyCodexUsage(u *Usage, sessionTotal int64) {
	if sessionTotal > 0 {
		u.Key = "total " + strconv.FormatInt(sessionTotal, 10)
	}
}

// readOmpUsage reads the usage of an answer.
func (m *message) readOmpUsage(s *skim) {
	s.object(func(key string) {
		switch key {
		case "input":
			m.spent.Input = s.number()
			m.used += m.spent.Input
		case "cacheRead":
			m.spent.CacheRead = s.number()
			m.used += m.spent.CacheRead
		case "cacheWrite":
			m.spent.CacheWrite = s.number()
			m.used += m.spent.CacheWrite
		case "output":
			m.spent.Output = s.number()
		case "cost":
			s.object(func(key string) {
				if key == "total" {
					m.spent.Micros = s.dollars()
				}
			})
		}
	})
	m.spent.noCost()
}

// noCost forgets a cost of 0 for tokens: a CLI that does not know a model's price tells 0.
func (u *Usage) noCost() {
	if u.Micros != nil && *u.Micros == 0 {
		u.Micros = nil
	}
}

// readGeminiUsage reads the usage of an answer. The CLI counts tokens from the cache among those of the input, and the
// thoughts beside the output.
func (m *message) readGeminiUsage(s *skim) {
	var tool int64 // of the results of tools, which the CLI counts beside the input
	s.object(func(key string) {
		switch key {
		case "input":
			m.used = s.number()
			m.spent.Input = m.used
		case "output":
			m.spent.Output = s.number()
		case "cached":
			m.spent.CacheRead = s.number()
		case "thoughts":
			m.spent.Reasoning = s.number()
		case "tool":
			tool = s.number()
		}
	})
	m.spent.Input = max(0, m.spent.Input-m.spent.CacheRead) + tool
	m.spent.Output += m.spent.Reasoning
}

// mirrorUsage is the field of an answer in OpenCode's mirror with what the answer has used.
const mirrorUsage = "used"

// opencodeUsage is the value of that field.
type opencodeUsage struct {
	Tokens
	Micros *int64 `json:"cost_micros"`
}

// spent returns what an answer has used. OpenCode counts the reasoning beside the output.
func (m *OpencodeInfo) spent() opencodeUsage {
	t := m.Tokens
	u := Usage{Tokens: Tokens{Input: t.Input, Output: t.Output + t.Reasoning, CacheRead: t.Cache.Read, CacheWrite: t.Cache.Write, Reasoning: t.Reasoning}}
	if m.Cost != nil {
		if micros, ok := Micros(*m.Cost); ok {
			u.Micros = &micros
		}
	}
	u.noCost()
	return opencodeUsage{u.Tokens, u.Micros}
}

// readMirrorUsage reads the field mirrorUsage.
func readMirrorUsage(s *skim) Usage {
	var u opencodeUsage
	if json.Unmarshal(s.raw(), &u) != nil {
		return Usage{}
	}
	return Usage{Tokens: u.Tokens, Micros: u.Micros}
}

// Grow keeps the greater number of each kind of u and of v, which tells of the same answer.
func (u *Usage) Grow(v *Usage) {
	u.Input, u.Output, u.CacheRead = max(u.Input, v.Input), max(u.Output, v.Output), max(u.CacheRead, v.CacheRead)
	u.CacheWrite, u.Reasoning = max(u.CacheWrite, v.CacheWrite), max(u.Reasoning, v.Reasoning)
	if v.Micros != nil && (u.Micros == nil || *u.Micros < *v.Micros) {
		u.Micros = v.Micros
	}
}
