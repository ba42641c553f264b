package personas

import (
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/understudyd/understudy/data/yamlfile"
)

// Permissions are the operator's rules about the tools that a persona's agents may call without a person being asked.
type Permissions struct {
	Allow string // rules such as Bash(git log *), one on each line
	Deny  string // they count before those of Allow
}

// SplitPermission splits a rule such as Bash(git log *) into its tool and its pattern. The rule of a whole tool has no
// pattern. ok is false if the text is no rule.
func SplitPermission(rule string) (tool, pattern string, ok bool) {
	tool, rest, has := strings.Cut(rule, "(")
	if has {
		pattern, ok = strings.CutSuffix(rest, ")")
		if !ok || pattern == "" {
			return "", "", false
		}
	}
	name := strings.Trim(tool, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-*")
	return tool, pattern, !strings.ContainsAny(rule, "\r\n") && tool != "" && name == "" && (tool != "*" || !has)
}

// readPermissions reads the key permissions: {allow: [...], deny: [...]}.
func (p *Persona) readPermissions(v yamlfile.Value) error {
	if v.Empty() {
		return nil
	}
	if v.Kind != yaml.MappingNode {
		return parseError(v.Line, "permissions must have the lists allow and deny, such as {allow: [\"Bash(git log *)\"]}")
	}
	return inSkill(v.Each([]string{"allow", "deny"}, func(key, value yamlfile.Value) error {
		items, err := value.Items(" such as [\"Bash(git log *)\"]")
		if err != nil {
			return inSkill(err)
		}
		for _, item := range items {
			item.Of = v.Of
			rule, err := item.Text()
			if err != nil {
				return inSkill(err)
			}
			switch tool, _, ok := SplitPermission(rule); {
			case !ok:
				return parseError(item.Line, "permissions: %s is no rule: write a tool, or a tool with a pattern such as Bash(git log *)", yamlfile.Quote(rule))
			case key.Value == "allow" && tool == "*":
				return parseError(item.Line, "permissions: %s would allow everything: choose a permission mode for that", yamlfile.Quote(rule))
			case key.Value == "allow":
				p.Permissions.Allow += rule + "\n"
			default:
				p.Permissions.Deny += rule + "\n"
			}
		}
		return nil
	}))
}
