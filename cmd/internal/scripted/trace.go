package scripted

import (
	"fmt"
	"os"
)

// leaveTrace starts the child of fork-child and writes the process ids, one a line, to the file that
// SCRIPTED_AGENT_PIDFILE names: this process's own, then the child's. The file appears when it is whole.
func (p *printer) leaveTrace() error {
	ids := fmt.Sprintln(p.PID)
	if p.b.has("fork-child") {
		// The child outlives this process if it is let.
		child := p.Run(p.alive, Command{Argv: []string{"sleep", "120"}, Environ: p.env, Group: true, Detached: true})
		if child.Err != nil {
			return fmt.Errorf("child: %w", child.Err)
		}
		ids += fmt.Sprintln(child.PID)
	}
	file := p.env.get("SCRIPTED_AGENT_PIDFILE")
	if file == "" {
		return nil
	}
	if err := os.WriteFile(file+".tmp", []byte(ids), 0o644); err != nil {
		return fmt.Errorf("process ids: %w", err)
	}
	return os.Rename(file+".tmp", file)
}
