// Package limits is the room that sees to agents that cannot go on: a usage limit, a full context window, an API that fails. It decides by the
// policy what is done, commits that, and does it: the agent is prompted after the reset, handed over, or a person is asked.
//
// It writes an agent's Limit once hooks have made one, and makes one of an API that fails for too long. It has a duty before the flow, and one
// for agents that died while they waited for a reset. What a crash leaves: a decision that is committed and not done yet, which the next look
// does; a text or a handoff is committed together with the decision's row that names it, so each is made once.
package limits
