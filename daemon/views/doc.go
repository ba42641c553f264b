// Package views says what people are shown of rows: who needs them and why, the lines of agents, the types of events, and the words of limits,
// steps, handoffs and usage. It writes nothing, and is pure as the rows are. The floors, the rooms and the surfaces read it.
package views
