// Package agents is the floor that starts agents, stops them and opens their sessions again: their rows, panes and launch files, the ladder of
// an agent that is asked to stop, the work trees that they are started in, and what people are shown of them.
//
// It writes the rows of agents where nobody below does: names, personas, starts, stops and ends. It has the duties launch, endTurnAtRest,
// reapGone, correctState, stopLadder, keepBase, giveSkill, tellOverdue and sayWhoGoesOn. What a crash leaves: a pane without a committed place,
// which the next look finds by its mark; a rung of the ladder, which is acted on once more.
package agents
