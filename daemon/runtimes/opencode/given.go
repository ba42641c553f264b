package opencode

import (
	"slices"
	"time"

	"github.com/understudyd/understudy/daemon/runtimes"
)

// What a session of OpenCode was given, as its own messages tell.

// Awaits reports whether a prompt with this text, which was submitted at since or later, was taken or may still be taken. If
// not, it was never submitted, or OpenCode has lost it: it loses a prompt that comes while it writes why a turn has failed.
func (s *Sight) Awaits(text string, since, now time.Time) bool {
	for i := range s.Messages {
		m := &s.Messages[i]
		if m.Info.Role != "user" || m.Info.Time.Created < since.UnixMilli() || runtimes.Unwrapped(m.text()) != runtimes.Unwrapped(text) {
			continue
		}
		age := now.Sub(time.UnixMilli(m.Info.Time.Created))
		if s.Status.Type != "" || s.answered(m.Info.ID) || s.refused(i) || age < lost {
			return true
		}
	}
	return false
}

// GivenWork reports whether the session was given a prompt since a rest, also one that OpenCode has dropped since: one behind the last
// turn's prompt. A prompt behind that one may have joined the last turn; the time tells. A prompt from before the clock was set back may
// have a later time than the rest; the order tells.
func (s *Sight) GivenWork(rest *runtimes.Rest) bool {
	last := slices.IndexFunc(s.Messages, func(m Message) bool { return m.Info.ID == rest.Prompt }) // -1: it is older than all of these
	return slices.ContainsFunc(s.Messages[last+1:], func(m Message) bool {
		return m.Info.Role == "user" && m.isPrompt() && !time.UnixMilli(m.Info.Time.Created).Before(rest.Since.Truncate(time.Millisecond))
	})
}
