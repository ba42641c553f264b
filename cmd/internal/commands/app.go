package commands

import "github.com/understudyd/understudy/cmd/internal/cli"

// app is the world that the commands live in.
type app struct{ *cli.App }
