package scripted

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// behaviours are the misbehaviours in force, by name, with the text after "=".
type behaviours map[string]string

// known lists every misbehaviour; the value says whether one may give "=…". doc.go describes them.
var known = map[string]bool{
	"no-document": false, "empty-document": false, "blank-document": false, "directory-document": false,
	"symlink-document": false, "huge-document": false, "size": true, "late-document": true,
	"slow-start": true, "no-session-start": false, "no-prompt-hook": false, "no-stop": false,
	"stop-twice": false, "crash-on-instruction": false, "crash-at-start": false, "ignore-exit": false,
	"ignore-term": false, "exit-dialog": false, "swallow-enter": false, "api-error": true,
	"foreign-secret": false, "child-hooks": false, "task-notification": true, "think": true, "exit-delay": true,
	"no-further": false, "no-headings": false, "claims": false,
	"fork-empty": false, "fork-error": false, "fork-hang": true, "fork-child": false, "fork-blocks": false, "fork-tool": false,
	"no-final-message": false, "no-final-text": false, "two-blocks": false, "late-transcript": true,
	"report": false, "trust": false, "login": false, "lost-prompt": false,
}

// add merges a comma- or line-separated list into b, less what is for agents that means says no to. A
// name nobody knows is an error, so that a typing mistake in a test does not pass for good behaviour.
func (b behaviours) add(list string, means func(agent string) bool) error {
	words := strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == '\n' || r == ' ' })
	for _, word := range words {
		agent, behaviour, scoped := strings.Cut(word, ":")
		if !scoped {
			behaviour = word
		}
		name, value, given := strings.Cut(behaviour, "=")
		takes, ok := known[name]
		if !ok {
			return fmt.Errorf("unknown behaviour %q: doc.go of the scripted agent lists them", name)
		}
		if given && !takes {
			return fmt.Errorf("behaviour %q takes no value", name)
		}
		_, failure := failures[value]
		if _, err := parseDuration(value); value != "" && err != nil && !(name == "api-error" && failure) {
			return fmt.Errorf("behaviour %q takes no value %q: doc.go of the scripted agent says which", name, value)
		}
		if !scoped || means(agent) {
			b[name] = value
		}
	}
	return nil
}

func (b behaviours) has(name string) bool { _, ok := b[name]; return ok }

// duration is the value of name, or fallback when it was not given.
func (b behaviours) duration(name string, fallback time.Duration) time.Duration {
	if d, err := parseDuration(b[name]); err == nil {
		return d
	}
	return fallback
}

func (b behaviours) size() int {
	if n, err := strconv.Atoi(b["size"]); err == nil {
		return n
	}
	return 1 << 20
}

func parseDuration(s string) (time.Duration, error) {
	if ms, err := strconv.Atoi(s); err == nil {
		return time.Duration(ms) * time.Millisecond, nil
	}
	return time.ParseDuration(s)
}

// readBehaviours collects the three sources. A missing file is an empty one.
func readBehaviours(opt options, env environment) (behaviours, error) {
	b := behaviours{}
	lists := []string{env.get("SCRIPTED_AGENT"), opt.behave}
	if file := env.get("SCRIPTED_AGENT_FILE"); file != "" {
		text, err := os.ReadFile(file)
		if err != nil && !os.IsNotExist(err) {
			return b, fmt.Errorf("behaviour file: %w", err)
		}
		lists = append(lists, string(text))
	}
	for _, list := range lists {
		if err := b.add(list, opt.means); err != nil {
			return b, err
		}
	}
	return b, nil
}

// environment is a list of NAME=value.
type environment []string

// get is the last value of name, or "".
func (e environment) get(name string) string {
	for i := len(e) - 1; i >= 0; i-- {
		if value, ok := strings.CutPrefix(e[i], name+"="); ok {
			return value
		}
	}
	return ""
}

// without is the environment less some names.
func (e environment) without(names ...string) environment {
	var out environment
next:
	for _, entry := range e {
		for _, name := range names {
			if strings.HasPrefix(entry, name+"=") {
				continue next
			}
		}
		out = append(out, entry)
	}
	return out
}
