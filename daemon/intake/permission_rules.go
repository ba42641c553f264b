package intake

import (
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/understudyd/understudy/personas"
)

// shellMeta are the characters with which one line of shell becomes more than one plain command. An allow rule with an
// asterisk matches no command that has one of them, quoted or not: go test * does not allow go test; rm -rf /.
const shellMeta = ";&|<>$`(){}\\\n\r"

// plainCommand reports whether a call of Bash has only the arguments that a rule knows. Others may change what the command
// can do, such as one that turns the sandbox off.
func plainCommand(c *ToolCall) bool {
	for name := range c.Args {
		if !slices.Contains([]string{"command", "description", "timeout", "run_in_background"}, name) {
			return false
		}
	}
	return true
}

// AllowedBy reports whether an allow rule covers the call. cwd is the agent's directory, to which relative paths belong.
func (c *ToolCall) AllowedBy(rule, cwd string) bool {
	tool, pattern, ok := personas.SplitPermission(rule)
	switch {
	case !ok:
		return false
	case pattern == "":
		return matches(tool, c.Tool, 0) // the whole tool
	case tool == "Bash":
		command := c.text("command")
		return c.Tool == tool && plainCommand(c) && command != "" && matches(pattern, command, 0) &&
			(exact(pattern) || !strings.ContainsAny(command, shellMeta))
	}
	return c.concerns(tool, pattern, cwd)
}

// DeniedBy reports whether a deny rule covers the call, or one of the commands of which its shell line seems to consist. That
// is a help against accidents: a shell has many ways to hide a command.
func (c *ToolCall) DeniedBy(rule, cwd string) bool {
	tool, pattern, ok := personas.SplitPermission(rule)
	switch {
	case !ok:
		return false
	case pattern == "":
		return matches(tool, c.Tool, 0)
	case tool != "Bash":
		return c.concerns(tool, pattern, cwd)
	case c.Tool != tool:
		return false
	}
	command := c.text("command")
	parts := strings.FieldsFunc(command, func(r rune) bool { return strings.ContainsRune(shellMeta, r) && r != '\\' })
	return matches(pattern, command, 0) ||
		slices.ContainsFunc(parts, func(part string) bool { return matches(pattern, strings.TrimSpace(part), 0) })
}

// concerns reports whether a rule about files or sites covers the call.
func (c *ToolCall) concerns(tool, pattern, cwd string) bool {
	domain, isDomain := strings.CutPrefix(pattern, "domain:")
	switch {
	case tool == "Edit" && c.edits(), tool == c.Tool && c.path() != "":
		path := c.path()
		if !filepath.IsAbs(path) {
			path = filepath.Join(cwd, path)
		}
		if rest, home := strings.CutPrefix(pattern, "./"); home || !strings.HasPrefix(pattern, "/") && !strings.HasPrefix(pattern, "**") {
			pattern = literal(cwd) + "/" + rest
		}
		return filepath.Clean(path) == path && matches(pattern, path, '/')
	case tool == c.Tool && isDomain:
		u, err := url.Parse(c.text("url"))
		return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.User == nil && matches(strings.ToLower(domain), strings.ToLower(u.Hostname()), 0)
	case tool == c.Tool:
		return c.text("url") != "" && matches(pattern, c.text("url"), 0)
	}
	return false
}

// exact reports whether a pattern stands for one text only.
func exact(pattern string) bool {
	return !strings.Contains(strings.NewReplacer(`\\`, "", `\*`, "").Replace(pattern), "*")
}

// matches reports whether a pattern matches all of a text. In a pattern, * stands for any characters, and for none; \* is an
// asterisk. With a separator, * does not match that, and ** does.
func matches(pattern, text string, separator byte) bool {
	var re strings.Builder
	re.WriteString(`(?s)\A`)
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case c == '\\' && i+1 < len(pattern):
			i++
			re.WriteString(regexp.QuoteMeta(pattern[i : i+1]))
		case c == '*' && (separator == 0 || strings.HasPrefix(pattern[i:], "**")):
			re.WriteString(".*")
			if separator != 0 {
				i++
			}
		case c == '*':
			re.WriteString("[^" + regexp.QuoteMeta(string(separator)) + "]*")
		default:
			re.WriteString(regexp.QuoteMeta(pattern[i : i+1]))
		}
	}
	re.WriteString(`\z`)
	compiled, err := regexp.Compile(re.String())
	return err == nil && compiled.MatchString(text) // a pattern that is not UTF-8 matches nothing
}
