// Package usage is the room of what agents use: how full their context windows are, the tokens and costs of their answers, and the budgets of
// personas. It hands an agent over by itself when its context is nearly full.
//
// It writes the rows of usage and of budgets' marks, the columns of an agent's context, and the hold by a budget. It has the duties measure,
// countUsage and handOverFull. What a crash leaves: nothing that counts twice; how far a transcript was read is committed with what was counted.
package usage
