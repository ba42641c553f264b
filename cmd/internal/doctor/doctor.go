// Package doctor checks what understudy needs on this machine, says how to mend what is wrong and, with permission,
// installs missing programs. It runs one check after the other in its caller's goroutine. If an installation is killed,
// the package manager must repair it; doctor itself writes nothing.
package doctor

import (
	"context"
	"errors"
	"fmt"

	"github.com/understudyd/understudy/cmd/internal/cli"
)

// The states of a finding.
const (
	FindingOK      = "ok"
	FindingUntried = "untried" // nothing is known to be wrong, and nobody has tried it
	FindingWarning = "warning" // understudy works without it
	FindingMissing = "missing" // nothing works without it
)

// Finding is the result of one check, and how to mend it.
type Finding struct {
	Name   string `json:"name"`
	State  string `json:"state"`
	Detail string `json:"detail"`
	Fix    string `json:"fix,omitempty"`
	pack   string // the package that `doctor --fix` installs; empty if no package mends it
}

// OK returns the finding of a check that found nothing wrong.
func OK(name, format string, args ...any) Finding {
	return Finding{Name: name, State: FindingOK, Detail: fmt.Sprintf(format, args...)}
}

// Require checks that tmux and PostgreSQL are installed, and offers to install a missing one. It returns the findings.
func Require(ctx context.Context, a *cli.App, yes bool) ([]Finding, error) {
	found := []Finding{CheckTmux(ctx), CheckPostgres()}
	missing := Lacking(found)
	for _, f := range found {
		if f.State == FindingMissing && f.pack == "" {
			return nil, errors.New(f.Detail)
		}
	}
	if len(missing) == 0 {
		return found, nil
	}
	for _, f := range missing {
		fmt.Fprintf(a.Stderr, "understudy: %s\n", f.Detail)
	}
	if err := Install(ctx, a, missing, yes); err != nil {
		return nil, err
	}
	found = []Finding{CheckTmux(ctx), CheckPostgres()}
	for _, f := range Lacking(found) {
		return nil, fmt.Errorf("the installation did not help: %s: install it by hand", f.Detail)
	}
	return found, nil
}
