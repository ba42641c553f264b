// Package handoffs is the floor that passes work on: from the request over the document, its checks and its assembly to the successor's first
// prompt, for one heir or several.
//
// It writes the rows of handoffs and heirs, the first rows of successors, and files in the folders of documents. It has the duty seeReading; the
// duty handOver, which advances a handoff, is the intake's. What a crash leaves: a phase on the row, from which the next daemon goes on; a fork of
// a session, which ends with the process and is begun anew.
package handoffs
