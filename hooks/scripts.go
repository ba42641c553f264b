package hooks

import "embed"

// Scripts holds scripts/*: small sh scripts for people who set up their hooks by
// hand; see README.md.
//
//go:embed scripts
var Scripts embed.FS
