package opencode

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/runtimes/limittext"
	"github.com/understudyd/understudy/hooks"
)

// Message is a message of a session, as OpenCode's server returns it, with the fields that we need.
type Message struct {
	Info  Info   `json:"info"`
	Parts []Part `json:"parts"`
}

// Info says what a message is. All times are Unix milliseconds.
type Info struct {
	ID       string `json:"id"`
	Role     string `json:"role"`     // user or assistant
	ParentID string `json:"parentID"` // assistant: the user's message that it answers
	Mode     string `json:"mode"`
	Provider string `json:"providerID"`
	Model    string `json:"modelID"`
	// Choice is, of a user's message, the model that is to answer: an object with providerID and modelID.
	Choice json.RawMessage `json:"model"`
	Finish string          `json:"finish"` // assistant: why the model stopped; "": it has not
	Error  *Error          `json:"error"`
	Tokens Tokens          `json:"tokens"`
	Cost   *float64        `json:"cost"` // in US dollars
	Time   struct {
		Created   int64 `json:"created"`
		Completed int64 `json:"completed"`
	} `json:"time"`
}

type Tokens struct {
	Total     int64 `json:"total"`
	Input     int64 `json:"input"`
	Output    int64 `json:"output"`
	Reasoning int64 `json:"reasoning"`
	Cache     struct {
		Read  int64 `json:"read"`
		Write int64 `json:"write"`
	} `json:"cache"`
}

func (t Tokens) used() int64 {
	return cmp.Or(t.Total, t.Input+t.Output+t.Reasoning+t.Cache.Read+t.Cache.Write)
}

// Part is a part of a message.
type Part struct {
	Type      string `json:"type"` // Text, tool, compaction and others
	Text      string `json:"text"`
	Synthetic bool   `json:"synthetic"` // OpenCode wrote the text in the user's name
	Ignored   bool   `json:"ignored"`
	Tool      string `json:"tool"`
	CallID    string `json:"callID"`
	State     struct {
		Status string `json:"status"`
		Input  struct {
			FilePath string `json:"filePath"`
			Command  string `json:"command"`
			// Todos is the whole list, of the tool todowrite.
			Todos json.RawMessage `json:"todos"`
		} `json:"input"`
	} `json:"state"`
}

// Error is why a turn failed.
type Error struct {
	Name string `json:"name"`
	Data struct {
		Message    string `json:"message"`
		StatusCode int    `json:"statusCode"`
	} `json:"data"`
}

// Status is what a session does now. The zero value says that it is idle.
type Status struct {
	Type    string `json:"type"` // busy or retry
	Message string `json:"message"`
	Next    int64  `json:"next"` // retry: when, in Unix milliseconds
	Action  struct {
		Reason string `json:"reason"`
	} `json:"action"`
}

// Asked is a permission or a question for which OpenCode waits.
type Asked struct {
	ID    string
	What  string    // for people
	Since time.Time // when it was first seen
}

// Sight is what was read of a session and its server at one moment. It must be complete from the first message of
// the newest turn on.
type Sight struct {
	Session    string
	Transcript string          // path of the file with the conversation
	Earlier    map[string]bool // ids of the prompts that an earlier agent was given
	Messages   []Message
	Status     Status
	Asked      []Asked
	Retried    bool      // the newest report of a retry said that it has begun
	Failed     *Error    // the newest error that the server has reported of the session; nil: none
	FailedAt   time.Time // when it was reported
	Reverted   string    // the message from which on a person has taken the conversation back; "": none
	IdleSince  time.Time // since when the session has been idle with its newest message, without a gap
	Window     int64     // size of the context window of the newest answer's model, in tokens; 0: not known
}

const (
	// settle is how long a turn must have been over that ended in no regular way. OpenCode says that a session is
	// idle before it has written why, and a prompt that comes in between is never answered.
	settle = time.Second
	// lost is how long an idle session may leave a message unfinished before its turn counts as interrupted.
	lost = 5 * time.Second
	// debounce is how long a request must be open before people are told: some OpenCode answers by itself.
	debounce = time.Second
	// farRetry is how far in the future a retry must be for a usage limit.
	farRetry = 5 * time.Minute
)

// turn is a prompt and what answers it.
type turn struct {
	prompt  *Message
	answers []*Message
}

// Newest returns the id of the newest message; "": there is none.
func (s *Sight) Newest() string {
	if len(s.Messages) == 0 {
		return ""
	}
	return s.Messages[len(s.Messages)-1].Info.ID
}

// Reports returns all that the session tells by now, in order, with the same keys each time. limited says that a usage limit
// is reached: OpenCode would try again without end, so its turn must be aborted. again is when there may be more to tell
// although nothing has changed; 0: never.
func (s *Sight) Reports(now time.Time) (reports []runtimes.Report, limited bool, again time.Duration) {
	r := reporter{Sight: s, now: now}
	r.add(hooks.SessionStart, "session "+s.Session, map[string]any{"source": "startup"})
	turns := s.turns()
	for i := range turns {
		r.turn(&turns[i], i == len(turns)-1)
	}
	if why, ok := s.Failed.refusal(); ok {
		r.add(hooks.PromptRefused, "refused "+strconv.FormatInt(s.FailedAt.UnixMilli(), 10), map[string]any{"reason": why})
		r.reports[len(r.reports)-1].At = s.FailedAt
	}
	r.asked()
	return r.reports, r.limited, r.again
}

// PromptsBefore returns the ids of the prompts from before a time.
func (s *Sight) PromptsBefore(t time.Time) (ids []string) {
	for i := range s.Messages {
		if m := &s.Messages[i]; m.Info.Role == "user" && m.isPrompt() && m.Info.Time.Created < t.UnixMilli() {
			ids = append(ids, m.Info.ID)
		}
	}
	return ids
}

// turns returns the agent's turns. A prompt without an answer is none: it is queued, or about to be taken,
// or lost.
func (s *Sight) turns() (turns []turn) {
	owner := map[string]int{} // the turn of each user's message
	for i := range s.Messages {
		m := &s.Messages[i]
		switch {
		case m.Info.Role == "user" && m.isPrompt():
			if !s.Earlier[m.Info.ID] && (s.answered(m.Info.ID) || s.refused(i)) {
				turns = append(turns, turn{prompt: m})
				owner[m.Info.ID] = len(turns) - 1
			}
		case m.Info.Role == "user" && len(turns) > 0:
			owner[m.Info.ID] = len(turns) - 1 // OpenCode goes on by itself, after a compaction for one
		case m.Info.Role == "assistant" && !m.isSummary():
			if t, ok := owner[m.Info.ParentID]; ok {
				turns[t].answers = append(turns[t].answers, m)
			}
		}
	}
	return turns
}

func (s *Sight) answered(id string) bool {
	return slices.ContainsFunc(s.Messages, func(m Message) bool { return m.Info.ParentID == id })
}

// refused reports whether the message at i is a prompt that failed before an answer was begun.
func (s *Sight) refused(i int) bool {
	created := time.UnixMilli(s.Messages[i].Info.Time.Created)
	return s.Failed != nil && s.Status.Type == "" && i == len(s.Messages)-1 && !s.FailedAt.Before(created)
}

// isPrompt reports whether a user's message is a prompt of a person or of the daemon.
func (m *Message) isPrompt() bool {
	return slices.ContainsFunc(m.Parts, func(p Part) bool { return p.Type != "compaction" && !p.Synthetic }) &&
		!slices.ContainsFunc(m.Parts, func(p Part) bool { return p.Type == "compaction" })
}

func (m *Message) isSummary() bool { return m.Info.Mode == "compaction" }

// text returns the texts of a message.
func (m *Message) text() string {
	var texts []string
	for _, p := range m.Parts {
		if p.Type == "text" && !p.Synthetic && !p.Ignored && p.Text != "" {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// reporter collects the reports of one look.
type reporter struct {
	*Sight
	now     time.Time
	reports []runtimes.Report
	limited bool
	again   time.Duration
}

// maxReported is how many bytes of a text a report has. The body of a report may have a megabyte.
const maxReported = 300 << 10

func (r *reporter) add(event, key string, body map[string]any) {
	body["hook_event_name"], body["session_id"], body["transcript_path"] = event, r.Session, r.Transcript
	for name, v := range body {
		if text, ok := v.(string); ok && len(text) > maxReported {
			body[name] = strings.ToValidUTF8(text[:maxReported], "")
		}
	}
	b, _ := json.Marshal(body) // texts and numbers cannot fail
	r.reports = append(r.reports, runtimes.Report{Event: event, Body: b, Key: key})
}

// wait says that there may be more to tell after d.
func (r *reporter) wait(d time.Duration) {
	if d = max(d, 10*time.Millisecond); r.again == 0 || d < r.again {
		r.again = d
	}
}

// turn reports the prompt of a turn, and its end if it is over. A prompt that came in a turn may have joined it: then the
// earlier turn has no end of its own.
func (r *reporter) turn(t *turn, newest bool) {
	id := t.prompt.Info.ID
	r.add(hooks.UserPromptSubmit, "prompt "+id, map[string]any{"prompt_id": id, "prompt": t.prompt.text()})
	if len(t.answers) == 0 {
		r.failed(t, r.Failed)
		return
	}
	last := t.answers[len(t.answers)-1]
	final := last.Info.Finish != "" && last.Info.Finish != "tool-calls" && last.Info.Finish != "unknown"
	idle := newest && r.Status.Type == ""
	quiet := r.now.Sub(r.IdleSince)
	switch {
	case last.Info.Error != nil && (!newest || idle):
		over := max(0, quiet)
		if ended := r.now.Sub(time.UnixMilli(last.Info.Time.Completed)); ended >= 0 { // else the clock was set back since then
			over = min(ended, over)
		}
		if newest && over < settle {
			r.wait(settle - over)
			return
		}
		r.failed(t, last.Info.Error)
	case final && (!newest || idle):
		r.add(hooks.Stop, "end "+id, r.ending(t, last, map[string]any{"last_assistant_message": last.text()}))
	case newest && r.Status.Type == "retry":
		r.retrying(t, last)
	case newest && r.Retried && r.Status.Type == "busy": // it says retry until the API has begun to answer
		r.add(hooks.RetryEnded, "retried "+last.Info.ID+" "+strconv.FormatInt(r.now.UnixMilli(), 10), map[string]any{"prompt_id": id})
	case idle:
		limit := lost
		if last.Info.Time.Completed != 0 {
			limit = settle // aborted while it waited for a retry, or a person refused a permission
		}
		if quiet < limit {
			r.wait(limit - quiet)
			return
		}
		r.add(hooks.Interrupt, "end "+id, r.ending(t, last, map[string]any{}))
	}
}

// ending adds to the report of a turn's end which turn it is, and how full the context window is.
func (r *reporter) ending(t *turn, last *Message, body map[string]any) map[string]any {
	body["prompt_id"] = t.prompt.Info.ID
	if used := last.Info.Tokens.used(); used > 0 && r.Window > 0 {
		body["understudy_context"] = hooks.ContextUse{Tokens: used, Limit: r.Window}
	}
	return body
}

// failed reports a turn that ended with an error.
func (r *reporter) failed(t *turn, why *Error) {
	id := t.prompt.Info.ID
	if why.Name == "MessageAbortedError" {
		r.add(hooks.Interrupt, "end "+id, map[string]any{"prompt_id": id})
		return
	}
	code := why.code()
	r.add(hooks.StopFailure, "end "+id, map[string]any{"prompt_id": id, "error": code, "last_assistant_message": cmp.Or(why.Data.Message, why.Name)})
}

// retrying reports a usage limit if the retry is far away, or its text names a quota. Otherwise it reports the first of several
// retries.
func (r *reporter) retrying(t *turn, last *Message) {
	limited, far := r.isLimited(r.now)
	if !limited {
		if !r.Retried {
			r.add(hooks.RetryStarted, "retry "+last.Info.ID+" "+strconv.FormatInt(r.Status.Next, 10), map[string]any{
				"prompt_id": t.prompt.Info.ID, "error": refusal(r.Status.Message), "last_assistant_message": r.Status.Message,
			})
		}
		return
	}
	r.limited = true
	body := map[string]any{"prompt_id": t.prompt.Info.ID, "error": runtimes.UsageLimit, "last_assistant_message": r.Status.Message}
	if far {
		body["resets_at"] = time.UnixMilli(r.Status.Next).Unix()
	}
	r.add(hooks.StopFailure, "limit "+last.Info.ID, body)
}

// isLimited reports whether OpenCode waits for a retry because of a usage limit. far says that the retry is so far away that its time is
// the limit's end.
func (s *Sight) isLimited(now time.Time) (limited, far bool) {
	if s.Status.Type != "retry" {
		return false, false
	}
	far = time.UnixMilli(s.Status.Next).Sub(now) > farRetry
	return far || saysLimited(s.Status.Message) || strings.Contains(s.Status.Action.Reason, "limit"), far
}

// saysLimited reports whether the text of an error is about a limit that does not end by trying again soon.
func saysLimited(text string) bool {
	lower := strings.ToLower(text)
	return limittext.IsUsageLimit(text) || !limittext.HasAny(lower, limittext.Momentary) && limittext.HasAny(lower, []string{"billing", "credit balance", "insufficient balance"}) ||
		strings.Contains(lower, "limit reached") && !limittext.HasAny(lower, limittext.Momentary) && !strings.Contains(lower, "rate limit")
}

// asked reports what OpenCode waits for. A request that is left over from an aborted turn stays in the server's list, so only
// those of a busy session count.
func (r *reporter) asked() {
	if r.Status.Type == "" {
		return
	}
	for _, q := range r.Asked {
		if open := r.now.Sub(q.Since); open < debounce {
			r.wait(debounce - open)
			continue
		}
		r.add(hooks.PermissionRequest, "asked "+q.ID, map[string]any{"message": q.What, "request_id": q.ID})
	}
}

// DialogClosed is the report that the request with this id was answered.
func (s *Sight) DialogClosed(id string) runtimes.Report {
	r := reporter{Sight: s}
	r.add(hooks.DialogClosed, "closed "+id, map[string]any{"request_id": id})
	return r.reports[0]
}
