package inside

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"

	"github.com/understudyd/understudy/cmd/internal/child"
	"github.com/understudyd/understudy/data/trust"
	"github.com/understudyd/understudy/hooks"
)

// launchAgent is the first program in an agent's pane. It execs the command in the file that the argument names. The
// file keeps the arguments and the launch secret out of tmux. It also keeps them out of the process list until the
// runtime itself shows them.
func launchAgent(args, environ []string, stderr io.Writer) int {
	if len(args) != 1 {
		fmt.Fprintln(stderr, "usage: understudy launch FILE (run by the daemon)")
		return 2
	}
	err := execLaunchFile(args[0], environ)
	fmt.Fprintln(stderr, "understudy: the agent could not be started:", err)
	return 127
}

func execLaunchFile(path string, environ []string) error {
	if err := trust.Check(path); err != nil {
		return err
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var file hooks.LaunchFile
	if err := json.Unmarshal(b, &file); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if len(file.Argv) == 0 {
		return fmt.Errorf("%s: no command", path)
	}
	env := append(file.Env, paneEnv(environ)...)
	bin, err := child.LookPath(file.Argv[0], env)
	if err != nil {
		return err
	}
	_ = hooks.JoinAgentsGroup() // where the system does not allow it, what has left the agent is told by its environment alone
	return fmt.Errorf("%s: %w", bin, syscall.Exec(bin, file.Argv, env))
}

// paneEnv returns the variables that tmux sets for the program in a pane.
func paneEnv(environ []string) []string {
	var out []string
	for _, v := range environ {
		name, _, _ := strings.Cut(v, "=")
		switch name {
		case "TMUX", "TMUX_PANE", "TERM", "TERM_PROGRAM", "TERM_PROGRAM_VERSION":
			out = append(out, v)
		}
	}
	return out
}
