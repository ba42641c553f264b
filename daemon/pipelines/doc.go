// Package pipelines is the room that runs personas in sequence, each fed by the one before it: it begins pipelines, watches the agents of their
// steps, takes what a step leaves, asks for approvals, and goes on.
//
// It writes the rows of pipelines, steps and outputs, the first row of a step's agent, and that such an agent was asked to stop. It has a lane
// for each pipeline that has not ended. What a crash leaves: a status that the next look finds in the rows and goes on from; what belongs
// together, such as the end of a step and the agent of the next one, is one commit.
package pipelines
