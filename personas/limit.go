package personas

import (
	"slices"
	"strings"

	"github.com/understudyd/understudy/data/yamlfile"
)

// onLimit are the values of the key on_limit.
var onLimit = []string{"wait", "hand_over", "ask"}

// readLimitKey reads one of the keys on_limit and fallback, which say what is done at a usage limit.
func (p *Persona) readLimitKey(v yamlfile.Value) error {
	if v.Of == "on_limit" {
		text, err := v.Text()
		switch {
		case err != nil:
			return inSkill(err)
		case text != "" && !slices.Contains(onLimit, text):
			return parseError(v.Line, "on_limit must be one of %s", strings.Join(onLimit, ", "))
		}
		p.OnLimit = text
		return nil
	}
	items, err := v.Items(" such as [codex, opencode]")
	if err != nil {
		return inSkill(err)
	}
	var names []string
	for _, item := range items {
		item.Of = v.Of
		name, err := item.Text()
		switch {
		case err != nil:
			return inSkill(err)
		case name == "" || strings.ContainsAny(name, " \t,") || strings.HasPrefix(name, "-"):
			return parseError(item.Line, "fallback must be a list of runtimes such as [codex, opencode], each one word")
		case slices.Contains(names, name):
			return parseError(item.Line, "fallback names %s twice", name)
		}
		names = append(names, name)
	}
	p.Fallback = strings.Join(names, ",")
	return nil
}
