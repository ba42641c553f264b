package event

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/understudyd/understudy/daemon/words"
)

// eventWords are the sentences of events whose payload has no sentence. fillWords replaces a word in braces by the
// value of that name that [Event.about] returns, such as {agent} or {pid}. It leaves out a text in brackets if one of
// the values in it is missing.
var eventWords = map[Type]string{
	AgentCreated:         "{agent} was created[ as {persona}][, generation {generation}]",
	AgentStarted:         "{agent} was started[ in pane {pane}][, process {pid}]",
	AgentRegistered:      "{agent} has registered[ in pane {pane}][, session {session_id}]",
	AgentStarting:        "{agent} is starting",
	AgentIdle:            "{agent} is idle",
	AgentWorking:         "{agent} is at work",
	AgentWaiting:         "{agent} waits for a person",
	AgentLimited:         "{agent} is limited[ until {until}]",
	AgentEnded:           "{agent} has ended[: {reason}]",
	AgentFailed:          "{agent} has failed[: {code}]",
	AgentPersonaAssigned: "{agent} plays {persona} from now on",
	AgentSkillInjected:   "{agent} was given the skill of {persona}",
	AgentRenamed:         "{agent} is called {name} from now on[, and was called {was}]",
	AgentSeen:            "The operator has looked at what {agent} has finished",
	AgentDismissed:       "The operator has seen that {agent} died[ ({from})]",
	AgentMoved:           "{agent} works in {to} now",
	AgentSessionChanged:  "{agent} goes on in session {session_id}[ ({source})]",
	AgentStopRequested:   "{agent} was asked to stop[ by its {by}]",
	AgentStopping:        "{agent} is being stopped[: {stage}]",
	AgentStopWithdrawn:   "{agent} goes on: it was given work before it was asked to exit",
	AgentContext:         "{agent} has used its context[ up to {percent} %][, {tokens} tokens]",
	AgentTrouble:         "{agent} is in trouble: {code}",
	AgentTroubleOver:     "{agent} is out of its trouble[: {code}]",
	AgentDialogAnswered:  "{agent}, dialog {name}: the operator has chosen {choice}, {label}[ ({from})]",
	AgentDialogEnded:     "{agent}, dialog {name}, choice {choice}, {label}: {note}",
	AgentKeysOn:          "{agent} takes keys from a browser[ ({from})]",
	AgentKeysOff:         "{agent} takes no more keys from a browser[ ({from})]: {why}[; {keys} keys][ in {lasted}]",
	AgentMessaged:        "{agent} has written to agent {to_agent_id}[; the text seems to have secrets: {secrets}]",

	PermissionAsked:    "{agent} asks for permission {permission_id}: {tool}[: {subject}]",
	PersonaRenamed:     "persona {was} is called {name} from now on",
	PermissionAnswered: "{agent}, permission {permission_id} for {tool}[: {subject}][, {outcome}]",
	PermissionEnded:    "{agent}, permission {permission_id} for {tool}[: {subject}][, {outcome}]",

	HandoffStarted:          "{handoff} was asked for[, reason {reason}][, mode {mode}]",
	HandoffCancelled:        "{handoff} was cancelled[ in phase {phase}]",
	HandoffRetried:          "{handoff} is tried again[ from phase {phase}]",
	HandoffCreated:          "{handoff} has its record",
	HandoffHeirMoved:        "{handoff} has its heir {persona} in phase {phase}[: {cause}]",
	HandoffRead:             "{agent} has read what {handoff} left for it",
	HandoffExtracted:        "{handoff} has a document whose fields could be read",
	HandoffExtractionFailed: "{handoff} has a document whose fields could not be read",

	DeliveryQueued:       "A text for {agent} waits to be typed[ ({kind})]",
	DeliverySubmitted:    "A text for {agent} was taken[ ({kind})][: {evidence}]",
	DeliveryNotSubmitted: "A text for {agent} was not taken[ ({kind})][: {evidence}]",
	DeliveryUnconfirmed:  "A text for {agent} was not confirmed[ ({kind})][: {evidence}]",
	DeliveryAnswered:     "A text for {agent} was given in answer to a hook[ ({kind})][: {evidence}]",
	DeliveryCancelled:    "A text for {agent} was cancelled[ ({kind})][, by {from}]",
	DeliveryPassedOn:     "A text for {agent} was passed on to agent {to_agent_id}[ ({kind})]",
	DeliveryTypedAgain:   "A text for {agent} is typed again[ ({kind})][: {evidence}]",

	PipelineCreated: "{pipeline} was created[ from {template}][: {title}]",
	PipelinePending: "{pipeline} waits for its turn",
	PipelineRunning: "{pipeline} is at work",
	PipelineResumed: "{pipeline} was resumed",
	StepRunning:     "{step} of {pipeline} is at work",
	StepDone:        "{step} of {pipeline} is done[ in {took}]",
	StepFailed:      "{step} of {pipeline} has failed[: {error}]",
	StepRouted:      "{step} of {pipeline} leads to step {to_step}[, by {rule}]",
	StepSkipped:     "{step} of {pipeline} was skipped",
	StepApproved:    "{step} of {pipeline} was approved[: {comment}]",
	StepRejected:    "{step} of {pipeline} was rejected[: {comment}]",

	WorktreeAsked:         "The operator asked to {do} work tree {worktree_id}, branch {branch}[, into {into}]",
	WorktreeCreated:       "Work tree {worktree_id} was made in {path}, on branch {branch}[ from {base}][, with a copy of {copied}][; its submodules are empty: {submodules}]",
	WorktreeFailed:        "Work tree {worktree_id} on branch {branch} was not made[: {error}]",
	WorktreeKept:          "Work tree {worktree_id} on branch {branch} was not removed[: {why}]",
	WorktreeMerged:        "Work tree {worktree_id}, branch {branch}, was merged into {into}[, which is at {commit}]",
	WorktreeMergeRefused:  "Work tree {worktree_id}, branch {branch}, was not merged into {into}[: {why}]",
	WorktreeRemoved:       "Work tree {worktree_id} in {path} was removed[; {kept_ref} has its files]",
	WorktreeRestored:      "Work tree {worktree_id} stands in {path} again, on branch {branch}",
	WorktreeRestoreFailed: "Work tree {worktree_id} on branch {branch} could not be brought back[: {why}]",

	OperatorNotified: "The operator was told of event {event_id}[ ({channel})][: {message}]",
	HistoryPruned:    "{agents} agents, {handoffs} handoffs and {pipelines} pipelines[ that ended before {until}] were deleted",
	LogPruned:        "{events} events and {hooks} hooks[ until {until}] were deleted from the log",
	FeedTruncated:    "Events after {after} are missing: the log has kept them from {oldest} on",
}

// maxWords is the limit of an event's sentence, in runes.
const maxWords = 1000

// Words says what happened in one plain sentence without its full stop, on one line. The sentence has the ids of the
// agent, handoff and pipeline of the event. It may contain text that agents and people wrote, without control
// characters.
func (e *Event) Words() string {
	about := e.about()
	text, known := eventWords[e.Type]
	if message := about["message"]; message != "" && e.Type != OperatorNotified {
		text = words.TrimDot(message)
	} else {
		if !known {
			text = e.plainWords(about)
		}
		text = fillWords(text, about)
	}
	text = words.Clip(words.Line(text), maxWords)
	var missing []string
	for _, name := range slices.Sorted(maps.Keys(about)) {
		if of, ok := strings.CutSuffix(name, "_id"); ok {
			if id := words.Line(words.Of(of) + " " + about[name]); !mentions(text, id) {
				missing = append(missing, id)
			}
		}
	}
	if len(missing) > 0 {
		text += " (" + strings.Join(missing, ", ") + ")"
	}
	return text
}

// about returns the values that a sentence of eventWords may name, as text: the members of the event's payload, and the
// event's agent, handoff, pipeline and step.
func (e *Event) about() map[string]string {
	about := map[string]string{}
	var payload map[string]any
	decoder := json.NewDecoder(bytes.NewReader(e.Payload))
	decoder.UseNumber() // an id has more digits than a float64
	if decoder.Decode(&payload) == nil {
		for name, value := range payload {
			switch value := value.(type) {
			case string:
				about[name] = value
			case json.Number, bool:
				about[name] = fmt.Sprint(value)
			}
		}
	}
	if ms, err := strconv.ParseInt(about["duration_ms"], 10, 64); err == nil {
		about["took"] = fmt.Sprintf("%.2f s", float64(ms)/1000)
	}
	if e.Type == AgentEnded {
		about["reason"] = EndWords(about["reason"])
	}
	about["step"] = stepWords(about["step"], about["agent_name"])
	for name, id := range map[string]*int64{"agent": e.AgentID, "handoff": e.HandoffID, "pipeline": e.PipelineID} {
		if id != nil {
			about[name] = fmt.Sprintf("%s %d", name, *id)
			about[name+"_id"] = fmt.Sprint(*id)
		} else {
			about[name] = "some " + name
		}
	}
	return about
}

// stepWords names a step by its number in the pipeline, because people do not know the id of its row.
func stepWords(number, agent string) string {
	switch {
	case number == "":
		return "a step"
	case agent == "":
		return "step " + number
	}
	return fmt.Sprintf("step %s (%s)", number, agent)
}

// plainWords returns the sentence of an event whose type is not in eventWords. Such an event says that a handoff has
// reached a phase, or another version of the daemon logged it.
func (e *Event) plainWords(about map[string]string) string {
	what := words.Of(e.Type)
	if phase, ok := strings.CutPrefix(what, "handoff "); ok && e.HandoffID != nil {
		what = "{handoff} is in phase " + phase
	}
	for _, name := range []string{"cause", "error", "reason", "evidence"} {
		if about[name] != "" {
			return what + ": {" + name + "}"
		}
	}
	return what
}

var (
	wordsOption = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\[[^\]]*\]`) })
	wordsMember = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\{[a-z_]+\}`) })
)

// fillWords replaces the words in braces of a sentence of eventWords by the values in about.
func fillWords(text string, about map[string]string) string {
	text = wordsOption().ReplaceAllStringFunc(text, func(option string) string {
		for _, member := range wordsMember().FindAllString(option, -1) {
			if about[strings.Trim(member, "{}")] == "" {
				return ""
			}
		}
		return option[1 : len(option)-1]
	})
	text = wordsMember().ReplaceAllStringFunc(text, func(member string) string { return about[strings.Trim(member, "{}")] })
	return words.Capital(text)
}

// mentions reports whether text has phrase as whole words.
func mentions(text, phrase string) bool {
	text, phrase = strings.ToLower(text), strings.ToLower(phrase)
	for from := 0; ; {
		i := strings.Index(text[from:], phrase)
		if i < 0 {
			return false
		}
		i += from
		before, after := " ", " "
		if i > 0 {
			before = text[i-1 : i]
		}
		if end := i + len(phrase); end < len(text) {
			after = text[end : end+1]
		}
		if !strings.ContainsAny(before+after, "0123456789abcdefghijklmnopqrstuvwxyz") {
			return true
		}
		from = i + 1
	}
}

// EndWords returns an end_reason in words for people. What follows a known reason, such as what the pane showed, stays. It
// returns any other reason, which the agent gave itself, unchanged.
func EndWords(reason string) string {
	code, rest := reason, ""
	if at := strings.IndexFunc(reason, func(r rune) bool { return r != '_' && (r < 'a' || r > 'z') }); at >= 0 {
		code, rest = reason[:at], reason[at:]
	}
	if says, ok := endWords[code]; ok {
		return says + rest
	}
	return reason
}

var endWords = map[string]string{
	"prompt_input_exit": "exited by /exit",
	"conversation_gone": "its runtime did not find the conversation",
	"exited":            "exited by itself",
	"process_gone":      "its process is gone",
	"tmux_server_gone":  "its tmux server is gone",
	"logout":            "logged out",
	"other":             "ended by a signal or its terminal",
}
