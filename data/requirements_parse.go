package data

import (
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/understudyd/understudy/data/yamlfile"
)

var (
	roleName        = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`) })
	requirementName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9]+(_[a-z0-9]+)*$`) })
)

// ParseRequirements reads the text of a requirements file. A part that is missing in the text is empty in
// the result. The error names the line and the key.
func ParseRequirements(b []byte) (Requirements, error) {
	r := Requirements{Roles: map[string][]string{}, Aliases: map[string]string{}, Files: map[string][]string{}}
	top, err := yamlfile.Parse(b, "the file")
	if err != nil {
		return Requirements{}, err
	}
	aliases := yamlfile.Value{Node: &yaml.Node{}}
	err = top.Each(nil, func(key, value yamlfile.Value) error {
		switch key.Value {
		case "roles":
			return value.Each(nil, r.addRole)
		case "aliases":
			aliases = value
			return nil
		case "files":
			return value.Each(nil, r.addFiles)
		}
		return key.Errorf("unknown key; there are roles, aliases and files")
	})
	if err == nil { // add the aliases last, because the file may have them above the roles that they name
		err = aliases.Each(nil, r.addAlias)
	}
	if err != nil {
		return Requirements{}, err
	}
	return r, nil
}

func (r Requirements) addRole(key, value yamlfile.Value) error {
	if !roleName().MatchString(key.Value) {
		return key.Errorf("a role is words of a-z and 0-9 joined by hyphens")
	}
	r.Roles[key.Value] = []string{}
	return eachWord(value, func(item yamlfile.Value) error {
		if !requirementName().MatchString(item.Value) {
			return item.Errorf("%q is not a requirement: those are words of a-z and 0-9 joined by _", item.Value)
		}
		if !slices.Contains(r.Roles[key.Value], item.Value) {
			r.Roles[key.Value] = append(r.Roles[key.Value], item.Value)
		}
		return nil
	})
}

func (r Requirements) addAlias(key, value yamlfile.Value) error {
	if !roleName().MatchString(key.Value) {
		return key.Errorf("a role is words of a-z and 0-9 joined by hyphens")
	}
	if _, ok := r.Roles[key.Value]; ok {
		return key.Errorf("is a role itself: remove one of the two")
	}
	if value.Kind != yaml.ScalarNode {
		return value.Errorf("must be the name of one role")
	}
	if _, ok := r.Roles[value.Value]; !ok {
		return value.Errorf("there is no role %q", value.Value)
	}
	r.Aliases[key.Value] = value.Value
	return nil
}

func (r Requirements) addFiles(key, value yamlfile.Value) error {
	if !requirementName().MatchString(key.Value) {
		return key.Errorf("a requirement is words of a-z and 0-9 joined by _")
	}
	return eachWord(value, func(item yamlfile.Value) error {
		if why := badGlob(item.Value); why != "" {
			return item.Errorf("%q %s", item.Value, why)
		}
		r.Files[key.Value] = append(r.Files[key.Value], path.Clean(item.Value))
		return nil
	})
}

// eachWord calls do for each item of a list of words.
func eachWord(v yamlfile.Value, do func(yamlfile.Value) error) error {
	items, err := v.Items(" such as [a, b]")
	for _, item := range items {
		if item.Kind != yaml.ScalarNode || item.Empty() {
			return item.Errorf("each item of the list must be a word")
		}
		if err := do(item); err != nil {
			return err
		}
	}
	return err
}

// badGlob says why a glob can't be used. It returns "" if the glob can be used.
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
	// Check each path element alone, as search.finds uses them. A set such as [a/b] may contain a slash.
	for name := range strings.SplitSeq(glob, "/") {
		if _, err := path.Match(name, ""); err != nil {
			return "is malformed"
		}
	}
	return ""
}
