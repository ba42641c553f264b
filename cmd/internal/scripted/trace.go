package scripted

import (
	"fmt"
	"os"
	"os/exec"
)

// leaveTrace starts the child of fork-child and writes the process ids, one a line, to the file that
// SCRIPTED_AGENT_PIDFILE names: this process's own, then the child's. The file appears when it is whole.
func (p *printer) leaveTrace() error {
	ids := fmt.Sprintln(p.pid)
	if p.b.has("fork-child") {
		child := exec.Command("sleep", "120") // stays in this process's group, and outlives it if let
		if err := child.Start(); err != nil {
			return fmt.Errorf("child: %w", err)
		}
		ids += fmt.Sprintln(child.Process.Pid)
		go func() { _ = child.Wait() }() // so that it does not remain as a zombie
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
