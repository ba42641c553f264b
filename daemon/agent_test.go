package daemon

import (
	"reflect"
	"testing"
)

// TestPartsOfAnAgent: no two parts of an agent have a field with the same name, in Go, in JSON or in the database. Nobody else says so: JSON
// would leave out both.
func TestPartsOfAnAgent(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	fields := func(of reflect.Type) {
		for i := range of.NumField() {
			f := of.Field(i)
			for _, name := range []string{"Go " + f.Name, "JSON " + f.Tag.Get("json"), "database " + f.Tag.Get("db")} {
				if name == "JSON -" || name == "JSON " || name == "database " {
					continue
				}
				if seen[name] != "" {
					t.Errorf("%s: %s has that name, and so has %s", name, of.Name()+"."+f.Name, seen[name])
				}
				seen[name] = of.Name() + "." + f.Name
			}
		}
	}
	agent := reflect.TypeFor[Agent]()
	fields(agent)
	for i := range agent.NumField() {
		if f := agent.Field(i); f.Anonymous {
			fields(f.Type)
			if f.Tag != "" {
				t.Errorf("the part %s has a tag: its fields would stand below a name", f.Name)
			}
		}
	}
	if len(seen) < 100 {
		t.Errorf("only %d names were found: adapt this test", len(seen))
	}
}
