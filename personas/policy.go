package personas

import (
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/understudyd/understudy/data/yamlfile"
)

// onLimit are the values of the key on_limit.
var onLimit = []string{"wait", "hand_over", "ask"}

// policyKeys are the keys that say what the daemon does with a persona's agents by itself.
var policyKeys = []string{"on_limit", "fallback", "auto", "notify_finished", "permissions", "budget", "sandbox"}

// readPolicy reads the value of one of the policyKeys.
func (p *Persona) readPolicy(v yamlfile.Value) error {
	switch v.Of {
	case "auto":
		return p.readAuto(v)
	case "notify_finished":
		return p.readNotify(v)
	case "permissions":
		return p.readPermissions(v)
	case "budget":
		return p.readBudget(v)
	case "sandbox":
		text := strings.TrimSpace(v.Value)
		if p.Sandbox = text == "on" || text == "true"; !p.Sandbox && text != "off" && text != "false" && !v.Empty() {
			return parseError(v.Line, "sandbox must be on or off")
		}
		return nil
	case "on_limit":
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

// readAuto reads the key auto. YAML takes on and off for texts, and other programs write true and false.
func (p *Persona) readAuto(v yamlfile.Value) error {
	text := strings.TrimSpace(strings.TrimSuffix(v.Value, "%"))
	percent, err := strconv.Atoi(text)
	switch {
	case text == "true":
		text = "on"
	case text == "false":
		text = "off"
	case v.Empty():
		text = ""
	case text == "on", text == "off":
	case v.Kind != yaml.ScalarNode, err != nil, percent < 1, percent > 100:
		return parseError(v.Line, "auto must be on, off, or from how many percent of the context, such as 75")
	}
	p.Auto = text
	return nil
}

// readNotify reads the value of the key notify_finished.
func (p *Persona) readNotify(v yamlfile.Value) error {
	switch text := strings.TrimSpace(v.Value); {
	case v.Empty():
		p.NotifyFinished = ""
	case v.Kind == yaml.ScalarNode && (text == "on" || text == "true"):
		p.NotifyFinished = "on"
	case v.Kind == yaml.ScalarNode && (text == "off" || text == "false"):
		p.NotifyFinished = "off"
	default:
		return parseError(v.Line, "notify_finished must be on or off")
	}
	return nil
}
