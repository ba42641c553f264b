package daemon

// OneShot is a command that runs to its end without a terminal.
type OneShot struct {
	Argv  []string
	Dir   string
	Env   []string // the whole environment
	Stdin []byte
}

// OneShotResult is what a command that ended by itself left.
type OneShotResult struct {
	Stdout []byte
	Stderr string // the end of it
	Exit   int
}
