package commands

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/understudyd/understudy/cmd/internal/proc"
	"github.com/understudyd/understudy/cmd/internal/serve"
	"github.com/understudyd/understudy/data/trust"
)

const (
	urlFlag     = "--database-url"
	urlVariable = "UNDERSTUDY_DATABASE_URL"
)

// hidePassword starts this program anew, in the same process, if a flag has the address of a database with a password: each user of this
// machine can read the command line of a process, but only its own user the environment. It returns if there is none.
func hidePassword(address string) error {
	if !serve.HasPassword(address) {
		return nil
	}
	binary, err := proc.OwnBinary()
	if err != nil {
		return err
	}
	args := slices.Clone(os.Args)
	for i := 0; i < len(args); i++ {
		switch {
		case args[i] == urlFlag && i+1 < len(args):
			args = slices.Delete(args, i, i+2)
			i--
		case strings.HasPrefix(args[i], urlFlag+"="):
			args = slices.Delete(args, i, i+1)
			i--
		}
	}
	if len(args) == len(os.Args) { // it would start anew for ever
		return fmt.Errorf("%s: give an address with a password in config.yaml, or in %s", urlFlag, urlVariable)
	}
	environ := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, urlVariable+"=") })
	return fmt.Errorf("%s: %w", binary, syscall.Exec(binary, args, append(environ, urlVariable+"="+address)))
}

// readEnvFile sets the variables in a file, which nobody else may read or write.
func readEnvFile(path string) error {
	if path == "" {
		return nil
	}
	if err := trust.Check(path); err != nil {
		return err
	}
	if err := trust.Private(path); err != nil {
		return err
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(b)) {
		name, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		if !ok || name == "" {
			return fmt.Errorf("%s: each line must be NAME=value", path)
		}
		if _, given := os.LookupEnv(name); given && name == urlVariable {
			continue // hidePassword has set it: a flag wins
		}
		if err := os.Setenv(name, value); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil
}
