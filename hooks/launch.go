package hooks

// LaunchFile tells `launch` what to run in an agent's pane. The daemon writes it with mode 0600 before it
// makes the pane, so that neither the secret nor the argument list passes through tmux or shows in ps.
type LaunchFile struct {
	Argv []string `json:"argv"`
	Env  []string `json:"env"`
}
