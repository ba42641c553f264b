package serve

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// decodeSettings reads config.yaml into s. What is wrong in it is said by its key, before the
// decoder would say it in terms of Go types.
func decodeSettings(b []byte, s *Settings) error {
	var doc yaml.Node
	if err := yaml.Unmarshal(b, &doc); err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if len(doc.Content) == 0 {
		return nil
	}
	if err := checkNode(doc.Content[0], "", reflect.TypeOf(*s)); err != nil {
		return err
	}
	if err := doc.Decode(s); err != nil { // a key given twice, a number that is too large
		msg := strings.TrimPrefix(strings.TrimPrefix(err.Error(), "yaml: "), "unmarshal errors:\n  ")
		return errors.New(strings.ReplaceAll(msg, "\n ", ";"))
	}
	return nil
}

// checkNode refuses a node that does not go into a setting of type t. key is its place in the
// file, empty at the top.
func checkNode(n *yaml.Node, key string, t reflect.Type) error {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.ShortTag() == "!!null" { // the key alone: the default stays
		return nil
	}
	switch t.Kind() {
	case reflect.Struct, reflect.Map:
		return checkMapping(n, key, t)
	case reflect.Slice:
		if n.Kind != yaml.SequenceNode {
			return fmt.Errorf("%s: must be a list such as [claude]", key)
		}
		for i, item := range n.Content {
			if err := checkNode(item, fmt.Sprintf("%s[%d]", key, i), t.Elem()); err != nil {
				return err
			}
		}
		return nil
	}
	return checkScalar(n, key, t)
}

func checkMapping(n *yaml.Node, key string, t reflect.Type) error {
	if n.Kind != yaml.MappingNode {
		if key == "" {
			return errors.New("must be lines such as listen: none")
		}
		return fmt.Errorf("%s: must be a group of keys, each on an indented line of its own", key)
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		name, of := n.Content[i].Value, t
		if name == "<<" {
			continue
		}
		full := strings.TrimPrefix(key+"."+name, ".")
		if t.Kind() == reflect.Map {
			of = t.Elem()
		} else if of = settingType(t, name); of == nil {
			return fmt.Errorf("line %d: unknown key %s", n.Content[i].Line, full)
		}
		if err := checkNode(n.Content[i+1], full, of); err != nil {
			return err
		}
	}
	return nil
}

// settingType is the type of the setting that a struct of them has under a name; nil: none.
func settingType(t reflect.Type, name string) reflect.Type {
	for i := range t.NumField() {
		if t.Field(i).Tag.Get("yaml") == name {
			return t.Field(i).Type
		}
	}
	return nil
}

func checkScalar(n *yaml.Node, key string, t reflect.Type) error {
	wants, right := "", n.Kind == yaml.ScalarNode
	switch {
	case t == reflect.TypeFor[time.Duration]():
		_, err := time.ParseDuration(n.Value)
		wants, right = "a duration such as 30s", right && err == nil && n.ShortTag() != "!!int"
	case t.Kind() == reflect.Bool:
		wants, right = "true or false", right && n.ShortTag() == "!!bool"
	case t.Kind() == reflect.String:
		wants = "a text"
	default:
		wants, right = "a whole number such as 60", right && n.ShortTag() == "!!int"
	}
	switch {
	case right:
		return nil
	case n.Kind == yaml.ScalarNode:
		return fmt.Errorf("%s: %q is not %s", key, n.Value, wants)
	}
	return fmt.Errorf("%s: must be %s", key, wants)
}
