package serve

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/understudyd/understudy/data/yamlfile"
)

// decodeSettings reads config.yaml into s. It checks the file itself, because its own errors name the line and the key.
// The errors of the YAML decoder name types of Go instead.
func decodeSettings(b []byte, s *Settings) error {
	if err := yamlfile.CheckText(b); err != nil {
		return err
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(b, &doc); err != nil {
		_, err = yamlfile.Parse(b, "")
		return err
	}
	if len(doc.Content) == 0 {
		return nil
	}
	if err := checkValue(yamlfile.Value{Node: doc.Content[0], Of: "the file"}, reflect.TypeOf(*s)); err != nil {
		return err
	}
	s.Removed = removedIn(&doc)
	if err := doc.Decode(s); err != nil { // for example, a number is too large
		msg := strings.TrimPrefix(strings.TrimPrefix(err.Error(), "yaml: "), "unmarshal errors:\n  ")
		return errors.New(strings.ReplaceAll(msg, "\n ", ";"))
	}
	return nil
}

// removed are the settings of earlier releases that nobody has set, each with what it is fixed at. A file with one of them is
// no mistake, so that an upgrade does not stop the daemon.
var removed = map[string]string{
	"events.max_rows":    "1000000",
	"handoff.min_words":  "15",
	"limits.api_timeout": "10m",
	"limits.max_waits":   "3",
}

// removedIn says which settings of a file no longer exist.
func removedIn(doc *yaml.Node) (out []string) {
	var file map[string]any
	_ = doc.Decode(&file) // checkValue has seen what is wrong
	for _, key := range slices.Sorted(maps.Keys(removed)) {
		group, name, _ := strings.Cut(key, ".")
		if settings, _ := file[group].(map[string]any); settings[name] != nil {
			out = append(out, goneWords(key, key))
		}
	}
	return out
}

// goneWords says that a setting no longer exists. said is how the operator has named it.
func goneWords(said, key string) string {
	return fmt.Sprintf("%s is no longer a setting, and what it says is ignored: it is fixed at %s", said, removed[key])
}

// keyOf returns the key of a setting; "" for one that cannot be set.
func keyOf(f reflect.StructField) string { return strings.TrimPrefix(f.Tag.Get("yaml"), "-") }

// checkValue refuses a value that a setting of type t cannot take. A key without a value keeps the default.
func checkValue(v yamlfile.Value, t reflect.Type) error {
	if v.Kind == yaml.AliasNode {
		v.Node = v.Alias
	}
	switch t.Kind() {
	case reflect.Struct, reflect.Map:
		return v.Each(nil, func(key, value yamlfile.Value) error {
			of := settingType(t, key.Value)
			switch {
			case key.Value == "<<":
				return nil
			case removed[key.Of] != "":
				return nil
			case of == nil:
				return fmt.Errorf("line %d: unknown key %s", key.Line, key.Of)
			}
			return checkValue(value, of)
		})
	case reflect.Slice:
		items, err := v.Items(" such as [claude]")
		for i, item := range items {
			item.Of = fmt.Sprintf("%s[%d]", v.Of, i)
			if err := checkValue(item, t.Elem()); err != nil {
				return err
			}
		}
		return err
	}
	return checkScalar(v, t)
}

// settingType returns the type of the setting with that key in a struct or a map. It returns nil if there is no such
// setting.
func settingType(t reflect.Type, name string) reflect.Type {
	if t.Kind() == reflect.Map {
		return t.Elem()
	}
	for i := range t.NumField() {
		if key := keyOf(t.Field(i)); key == name && key != "" {
			return t.Field(i).Type
		}
	}
	return nil
}

func checkScalar(v yamlfile.Value, t reflect.Type) error {
	wants, right := "", v.Kind == yaml.ScalarNode
	switch {
	case t == reflect.TypeFor[time.Duration]():
		_, err := time.ParseDuration(v.Value)
		wants, right = "a duration such as 30s", right && err == nil && v.ShortTag() != "!!int"
	case t.Kind() == reflect.Bool:
		wants, right = "true or false", right && v.ShortTag() == "!!bool"
	case t.Kind() == reflect.String:
		wants = "a text"
	default:
		wants, right = "a whole number such as 60", right && v.ShortTag() == "!!int"
	}
	switch {
	case right || v.Empty():
		return nil
	case v.Kind == yaml.ScalarNode:
		return v.Errorf("%q is not %s", v.Value, wants)
	}
	return v.Errorf("must be %s", wants)
}
