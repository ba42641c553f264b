package scriptedtest

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/understudyd/understudy/cmd/internal/child"
)

// behaviours are the misbehaviours in force, by name. The value is the text after "=".
type behaviours map[string]string

// known lists every misbehaviour. Its value says whether the misbehaviour may have "=…". doc.go describes the
// misbehaviours.
var known = map[string]bool{
	"no-document": false, "no-stop": false, "api-error": false, "malformed": false, "ignore-exit": false, "ignore-term": false, "usage-limit": true, "child-hooks": false, "think": true, "trust": false,
	"fork-hang": false,
}

// add merges a comma- or line-separated list into b. An entry N:MISBEHAVIOUR counts only for the agent of step N of a pipeline. An
// unknown misbehaviour is an error, so that a typing mistake in a test does not look like good behaviour.
func (b behaviours) add(list, step string) error {
	words := strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == '\n' || r == ' ' })
	for _, word := range words {
		of, behaviour, scoped := strings.Cut(word, ":")
		if !scoped {
			of, behaviour = step, word
		}
		name, value, given := strings.Cut(behaviour, "=")
		takes, ok := known[name]
		if !ok {
			return fmt.Errorf("unknown behaviour %q: doc.go of scriptedtest lists them", name)
		}
		if given && !takes {
			return fmt.Errorf("behaviour %q takes no value", name)
		}
		if _, err := parseDuration(value); value != "" && err != nil {
			return fmt.Errorf("behaviour %q takes no value %q: doc.go of scriptedtest says which", name, value)
		}
		if of == step {
			b[name] = value
		}
	}
	return nil
}

func (b behaviours) has(name string) bool { _, ok := b[name]; return ok }

// duration returns the duration that the misbehaviour name has, or fallback if it has none.
func (b behaviours) duration(name string, fallback time.Duration) time.Duration {
	if d, err := parseDuration(b[name]); err == nil {
		return d
	}
	return fallback
}

func parseDuration(s string) (time.Duration, error) {
	if ms, err := strconv.Atoi(s); err == nil {
		return time.Duration(ms) * time.Millisecond, nil
	}
	return time.ParseDuration(s)
}

// read returns the misbehaviours that are in force now. A missing file counts as an empty one.
func (s *script) read() (behaviours, error) {
	b := behaviours{}
	lists := []string{child.Getenv(s.process.Environ, "SCRIPTED_AGENT")}
	if file := child.Getenv(s.process.Environ, "SCRIPTED_AGENT_FILE"); file != "" {
		text, err := os.ReadFile(file)
		if err != nil && !os.IsNotExist(err) {
			return b, fmt.Errorf("behaviour file: %w", err)
		}
		lists = append(lists, string(text))
	}
	for _, list := range lists {
		if err := b.add(list, s.opt.Step()); err != nil {
			return b, err
		}
	}
	return b, nil
}
