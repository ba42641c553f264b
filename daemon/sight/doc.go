// Package sight is the floor of what is seen of agents: their panes, the entries of their runtimes in registries, their transcripts, and who
// their processes are. It reads the composer, and says what stands there.
//
// It writes to an agent's row what it has seen: its process and session if they have moved, the branch that is checked out, that its pane is gone.
// All else that it sees it reports as if the agent's own hook had told. It has the duties followSession, noteHead and noticeQuiet, and one
// goroutine for each process, which waits for its end. What a crash leaves: nothing; the next daemon looks again, and what it reports counts once.
package sight
