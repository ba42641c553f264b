package daemon

// NotesReading reports whether the daemon looks in an agent's transcript for its reading of the handoff.
func (a *Agent) NotesReading() bool { return a.Reading }
