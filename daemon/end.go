package daemon

import (
	"time"
)

// AgentEnd is the part of an agent about its end.
type AgentEnd struct {
	EndedAt   *time.Time `json:"ended_at"`
	EndCode   EndCode    `json:"end_code"`   // why it has ended; "": it has not
	EndReason *string    `json:"end_reason"` // EndCode in words, with what is known besides; EndBy writes both

	EndCause string `json:"-"` // the tmux server that ended with the agent, for an event's Cause; "": not known
	EndHint  string `json:"-"` // the reason in its SessionEnd; only a hint until the process is gone
}

// EndCode is why an agent has ended. The reasons that a runtime gives in its SessionEnd are codes as well, such as prompt_input_exit; the
// daemon decides by none of them but EndedOther.
type EndCode string

// The codes.
const (
	EndedGone       EndCode = "process_gone"      // its process is gone, and nobody told why
	EndedByItself   EndCode = "exited"            // its program exited well and told nobody why
	EndedByServer   EndCode = "tmux_server_gone"  // its tmux server is gone
	EndedLost       EndCode = "conversation_gone" // its runtime did not find the session that it was to open again
	EndedNotStarted EndCode = "not_started"       // it could not be started
	EndedOther      EndCode = "other"             // its runtime was ended by a signal or with its terminal
)

// saysNotStarted stands in the end reason before why an agent could not be started.
const saysNotStarted = "not started: "

// EndBy notes why the agent has ended. said is what is known besides, for people; "": nothing.
func (a *AgentEnd) EndBy(code EndCode, said string) {
	reason := string(code) + said
	if code == EndedNotStarted {
		reason = saysNotStarted + said
	}
	a.EndCode, a.EndReason = code, &reason
}

// Active reports whether the agent has not ended.
func (a *AgentEnd) Active() bool { return a.EndedAt == nil }

func (a *AgentEnd) Ended() bool { return !a.Active() }

// Died reports whether a person has to see to the work of an ended agent. Nobody asked the agent to stop, and either it did
// not exit by itself, or it could not be started. A person's agent that ended with its terminal did not die, because the
// person may have closed the terminal.
func (a *Agent) Died() bool {
	if a.Active() || a.StopAskedAt != nil {
		return false
	}
	switch a.EndCode {
	case EndedGone, EndedLost, EndedNotStarted:
		return true
	case EndedOther, EndedByServer:
		return a.Managed
	}
	return false
}

// LeavesWork reports whether an agent that works for no pipeline has died, and the operator has not dismissed it.
func (a *Agent) LeavesWork() bool { return a.PipelineID == nil && a.Died() && a.DismissedAt == nil }
