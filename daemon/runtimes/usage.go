package runtimes

import (
	"math"
	"path/filepath"
	"strings"
	"time"
)

// Tokens counts tokens by their kind. A token is in one kind only, except that those of Reasoning are in Output as well.
type Tokens struct {
	Input      int64 `json:"input"` // without those from the cache
	Output     int64 `json:"output"`
	CacheRead  int64 `json:"cache_read"`
	CacheWrite int64 `json:"cache_write"`
	Reasoning  int64 `json:"reasoning"` // 0: TakesNone, or the runtime does not tell
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
	l, err := rt.ReadLine(line)
	if err != nil {
		return Usage{}, false
	}
	u = l.Message.Spent
	u.At = l.At
	if u.Model == "" {
		u.Model = l.Chosen
	}
	if l.Kind != "assistant" && !l.Summary || l.Message.Model == Synthetic || u.Tokens == (Tokens{}) && (u.Micros == nil || *u.Micros == 0) {
		u.Key = ""
		return u, false
	}
	if l.Message.Model != "" {
		u.Model = l.Message.Model
	}
	u.Key, ok = l.usageKey(path)
	return u, ok
}

// usageKey returns the key of an answer. Anthropic's API gives each answer an id of its own, which is the same in all copies of
// a session and in the transcripts of its sub-agents, whatever request a line names. Another id counts with its request; without
// one, the name of the session's file goes before it.
func (l *Line) usageKey(path string) (key string, ok bool) {
	m := &l.Message
	switch {
	case m.Spent.Key != "":
		return filepath.Base(path) + "/" + m.Spent.Key, true
	case m.ID == "":
		return "", false
	case l.Request != "" && strings.HasPrefix(m.ID, "msg_"):
		return m.ID, true
	case l.Request != "":
		return m.ID + "/" + l.Request, true
	}
	return filepath.Base(path) + "/" + m.ID, true
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

// Cost returns dollars as [Usage] has them; nil: they are no cost. A CLI that does not know a model's price tells 0.
func Cost(dollars *float64) *int64 {
	if dollars == nil {
		return nil
	}
	micros, ok := Micros(*dollars)
	if !ok || micros == 0 {
		return nil
	}
	return &micros
}

// Grow keeps the greater number of each kind of u and of v, which tells of the same answer.
func (u *Usage) Grow(v *Usage) {
	u.Input, u.Output, u.CacheRead = max(u.Input, v.Input), max(u.Output, v.Output), max(u.CacheRead, v.CacheRead)
	u.CacheWrite, u.Reasoning = max(u.CacheWrite, v.CacheWrite), max(u.Reasoning, v.Reasoning)
	if v.Micros != nil && (u.Micros == nil || *u.Micros < *v.Micros) {
		u.Micros = v.Micros
	}
}
