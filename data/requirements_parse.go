package data

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"
)

var (
	roleName        = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`) })
	requirementName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9]+(_[a-z0-9]+)*$`) })
)

// ParseRequirements reads the text of a requirements file. What it leaves out is empty. The error
// names the line and the key.
func ParseRequirements(b []byte) (Requirements, error) {
	r := Requirements{Roles: map[string][]string{}, Aliases: map[string]string{}, Files: map[string][]string{}}
	top, err := parseYAML(b)
	if err != nil || top == nil {
		return r, err
	}
	var aliases []entry
	err = eachEntry(top, "", func(e entry) error {
		switch e.key {
		case "roles":
			return eachEntry(e.value, e.key, r.addRole)
		case "aliases":
			return eachEntry(e.value, e.key, func(e entry) error {
				aliases = append(aliases, e)
				return nil
			})
		case "files":
			return eachEntry(e.value, e.key, r.addFiles)
		}
		return e.errorf("unknown key; there are roles, aliases and files")
	})
	// Aliases last: they may stand above the roles that they are for.
	for _, e := range aliases {
		if err == nil {
			err = r.addAlias(e)
		}
	}
	if err != nil {
		return Requirements{}, err
	}
	return r, nil
}

func (r Requirements) addRole(e entry) error {
	if !roleName().MatchString(e.key) {
		return e.errorf("a role is words of a-z and 0-9 joined by hyphens")
	}
	r.Roles[e.key] = []string{}
	return e.eachItem(func(item *yaml.Node) error {
		if !requirementName().MatchString(item.Value) {
			return e.errorfAt(item, "%q is not a requirement: those are words of a-z and 0-9 joined by _", item.Value)
		}
		if !slices.Contains(r.Roles[e.key], item.Value) {
			r.Roles[e.key] = append(r.Roles[e.key], item.Value)
		}
		return nil
	})
}

func (r Requirements) addAlias(e entry) error {
	if !roleName().MatchString(e.key) {
		return e.errorf("a role is words of a-z and 0-9 joined by hyphens")
	}
	if _, ok := r.Roles[e.key]; ok {
		return e.errorf("is a role itself: remove one of the two")
	}
	if e.value.Kind != yaml.ScalarNode {
		return e.errorf("must be the name of one role")
	}
	if _, ok := r.Roles[e.value.Value]; !ok {
		return e.errorf("there is no role %q", e.value.Value)
	}
	r.Aliases[e.key] = e.value.Value
	return nil
}

func (r Requirements) addFiles(e entry) error {
	if !requirementName().MatchString(e.key) {
		return e.errorf("a requirement is words of a-z and 0-9 joined by _")
	}
	return e.eachItem(func(item *yaml.Node) error {
		if why := badGlob(item.Value); why != "" {
			return e.errorfAt(item, "%q %s", item.Value, why)
		}
		r.Files[e.key] = append(r.Files[e.key], path.Clean(item.Value))
		return nil
	})
}

// badGlob tells why a glob can't be used, "" if it can.
func badGlob(glob string) string {
	_, err := path.Match(glob, "")
	switch {
	case glob == "":
		return "names no file"
	case err != nil || strings.ContainsAny(glob, "\\\x00"):
		return "is malformed"
	case path.IsAbs(glob) || strings.HasPrefix(glob, "~") || !filepath.IsLocal(glob) || slices.Contains(strings.Split(glob, "/"), ".."):
		return "leads out of the working directory"
	case strings.Contains(glob, "**"):
		return "has **, which is not known: name each folder, or use * for one"
	}
	// A set may hold a slash, but the search goes name by name.
	for name := range strings.SplitSeq(glob, "/") {
		if _, err := path.Match(name, ""); err != nil {
			return "is malformed"
		}
	}
	return ""
}

// parseYAML reads one document; nil if it is empty.
func parseYAML(b []byte) (*yaml.Node, error) {
	var doc, more yaml.Node
	d := yaml.NewDecoder(bytes.NewReader(b))
	err := d.Decode(&doc)
	if errors.Is(err, io.EOF) {
		return nil, nil
	}
	if err == nil {
		if err = d.Decode(&more); err == nil {
			return nil, fmt.Errorf("line %d: a second document begins: remove the ---", more.Line)
		}
	}
	if !errors.Is(err, io.EOF) {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if top := doc.Content[0]; top.ShortTag() != "!!null" {
		return top, nil
	}
	return nil, nil
}

// entry is one key of a mapping and its value.
type entry struct {
	group string // the key above it
	line  int
	key   string
	value *yaml.Node
}

func (e entry) errorf(format string, args ...any) error {
	return fmt.Errorf("line %d: %s: %s", e.line, strings.TrimPrefix(e.group+"."+e.key, "."), fmt.Sprintf(format, args...))
}

func (e entry) errorfAt(n *yaml.Node, format string, args ...any) error {
	e.line = n.Line
	return e.errorf(format, args...)
}

// eachEntry calls do for each entry of a mapping; a key without a value has none.
func eachEntry(n *yaml.Node, group string, do func(entry) error) error {
	if n.ShortTag() == "!!null" {
		return nil
	}
	if n.Kind != yaml.MappingNode {
		return fmt.Errorf("line %d: %s: must be lines such as dev: …", n.Line, orFile(group))
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		e := entry{group: group, line: n.Content[i].Line, key: n.Content[i].Value, value: n.Content[i+1]}
		if n.Content[i].Kind != yaml.ScalarNode {
			return fmt.Errorf("line %d: %s: a key must be a word", e.line, orFile(group))
		}
		if seen[e.key] {
			return e.errorf("stands there twice")
		}
		seen[e.key] = true
		if err := do(e); err != nil {
			return err
		}
	}
	return nil
}

func orFile(group string) string {
	if group == "" {
		return "the file"
	}
	return group
}

// eachItem calls do for each item of a list of words; a key without a value has none.
func (e entry) eachItem(do func(*yaml.Node) error) error {
	if e.value.ShortTag() == "!!null" {
		return nil
	}
	if e.value.Kind != yaml.SequenceNode {
		return e.errorf("must be a list such as [a, b]")
	}
	for _, item := range e.value.Content {
		if item.Kind != yaml.ScalarNode || item.ShortTag() == "!!null" {
			return e.errorfAt(item, "each item of the list must be a word")
		}
		if err := do(item); err != nil {
			return err
		}
	}
	return nil
}
