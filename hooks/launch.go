package hooks

// LaunchFile has the command line and the environment that `launch` uses to start the CLI in an agent's pane. The
// daemon writes the file with mode 0600 before it makes the pane, so that neither the secret nor the command line passes
// through tmux, and the secret does not show in ps.
type LaunchFile struct {
	Argv []string `json:"argv"`
	Env  []string `json:"env"`
}
