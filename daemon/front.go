package daemon

// waitsForFg is what an agent asks of a person that was stopped by a signal.
const waitsForFg = "`fg` in its pane: it was stopped there, as by Ctrl-Z"

// noteBehind is why nothing is typed to an agent whose pane a shell reads.
const noteBehind = "the agent is not in the foreground of its terminal, which a shell reads now: run `fg` in its pane"

// inFront reports whether what is typed into the agent's terminal reaches it. Of an agent whose process is
// not known, the pane's own, that is taken for granted.
func (d *Daemon) inFront(a *Agent) bool {
	return a.PID == 0 || d.Processes.Standing(a.Process()).InFront
}
