// Package deliveries is the floor that brings one text into one pane, and finds out whether the agent has taken it: ways, evidence, verdicts; the
// messages of people and of other agents, and what becomes of them when their agent goes.
//
// It writes the rows of deliveries, and has the duty readTail, because refusals stand in transcripts; the duty deliverNext is the intake's. What
// a crash leaves: a delivery that is being typed. The next daemon decides by a token that tmux checks, by hooks and by the transcript whether
// the text arrived; it never types one twice on a guess.
package deliveries
