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

// Follow returns where a path leads once all links on it are followed; "": that is not known.
type Follow func(path string) string

// AllowedBy reports whether an allow rule covers the call. cwd is the agent's directory, to which relative paths belong.
func (c *ToolCall) AllowedBy(rule, cwd string, follow Follow) bool {
	tool, pattern, ok := personas.SplitPermission(rule)
	switch {
	case !ok:
		return false
	case pattern == "":
		return matches(tool, c.Tool, 0) // the whole tool
	case tool == "Bash":
		command := c.text("command")
		if exact(pattern) {
			return c.Tool == tool && plainCommand(c) && command != "" && matches(pattern, command, 0)
		}
		return c.Tool == tool && plainCommand(c) && coversCommand(pattern, command)
	case c.ofFile(tool):
		// The file must be where its name says: a link in the agent's tree may lead out of it.
		file, pattern := c.file(cwd), inTree(pattern, cwd)
		if filepath.Clean(file) != file || !matches(pattern, file, '/') {
			return false
		}
		real := follow(file)
		return real != "" && matches(followed(pattern, cwd, follow), real, '/')
	}
	return c.ofSite(tool, pattern)
}

// DeniedBy reports whether a deny rule covers the call, or one of the commands of which its shell line seems to consist. That
// is a help against accidents: a shell has many ways to hide a command.
func (c *ToolCall) DeniedBy(rule, cwd string, follow Follow) bool {
	tool, pattern, ok := personas.SplitPermission(rule)
	switch {
	case !ok:
		return false
	case pattern == "":
		return matches(tool, c.Tool, 0)
	case tool != "Bash" && c.ofFile(tool):
		file, pattern := c.file(cwd), inTree(pattern, cwd)
		if matches(pattern, filepath.Clean(file), '/') {
			return true
		}
		real := follow(file)
		return real != "" && (matches(pattern, real, '/') || matches(followed(pattern, cwd, follow), real, '/'))
	case tool != "Bash":
		return c.ofSite(tool, pattern)
	case c.Tool != tool:
		return false
	}
	command := c.text("command")
	parts := strings.FieldsFunc(command, func(r rune) bool { return strings.ContainsRune(shellMeta, r) && r != '\\' })
	return matches(pattern, command, 0) ||
		slices.ContainsFunc(parts, func(part string) bool { return matches(pattern, strings.TrimSpace(part), 0) })
}

// ofFile reports whether a rule of a tool is about the file of this call.
func (c *ToolCall) ofFile(tool string) bool {
	return c.path() != "" && (tool == c.Tool || tool == "Edit" && c.edits())
}

// file is the path of the call's file.
func (c *ToolCall) file(cwd string) string {
	if path := c.path(); filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(cwd, c.path())
}

// inTree returns the pattern of a rule about files for an agent's directory, to which it is relative.
func inTree(pattern, cwd string) string {
	if rest, home := strings.CutPrefix(pattern, "./"); home || !strings.HasPrefix(pattern, "/") && !strings.HasPrefix(pattern, "**") {
		return literal(cwd) + "/" + rest
	}
	return pattern
}

// followed returns a pattern whose folders are where they lead, as far as the agent cannot change that: its directory, and the folders above
// it or elsewhere that the operator may name by a link. Links below the directory are not followed.
func followed(pattern, cwd string, follow Follow) string {
	if rest, below := strings.CutPrefix(pattern, literal(cwd)+"/"); below {
		if real := follow(cwd); real != "" {
			return strings.TrimSuffix(literal(real), "/") + "/" + rest
		}
		return ""
	}
	folder := pattern
	if at := strings.IndexByte(pattern, '*'); at >= 0 {
		folder = pattern[:at]
	}
	folder = folder[:max(strings.LastIndexByte(folder, '/'), 0)]
	if folder == "" {
		return pattern
	}
	real := follow(plainText(folder))
	if real == "" {
		return ""
	}
	return strings.TrimSuffix(literal(real), "/") + pattern[len(folder):]
}

// ofSite reports whether a rule about a site covers the call.
func (c *ToolCall) ofSite(tool, pattern string) bool {
	domain, isDomain := strings.CutPrefix(pattern, "domain:")
	switch {
	case tool != c.Tool:
		return false
	case isDomain:
		u, err := url.Parse(c.text("url"))
		return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.User == nil && matches(strings.ToLower(domain), strings.ToLower(u.Hostname()), 0)
	}
	return c.text("url") != "" && matches(pattern, c.text("url"), 0)
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
