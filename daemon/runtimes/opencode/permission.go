package opencode

import (
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/understudyd/understudy/daemon/runtimes"
)

// Rule is one rule of OpenCode's about what may be done. Of the rules of an agent and then of a session, the last one that
// matches holds.
type Rule struct {
	Permission string `json:"permission"` // a tool, or a pattern of tools
	Pattern    string `json:"pattern"`
	Action     string `json:"action"`
}

// Agent is an agent of OpenCode's as its server tells it, with all its rules: OpenCode's own, then the user's, then those of
// the launch.
type Agent struct {
	Name  string `json:"name"`
	Mode  string `json:"mode"` // primary, subagent or all
	Rules []Rule `json:"permission"`
}

// everything is the pattern of the rules of a launch that are about everything. A user writes "*": under that key our rule would take
// the place of the user's, and neither its action nor its place in the order would be known any more. For the same reason
// [ours] ends each tool of ours.
const (
	everything = "**"
	ours       = "*"
)

// modes are the tools about which the modes say something: of a tool that is allowed, what takes the place of that. Without a
// mode, and in those that are agents of OpenCode's, the user's own settings hold. OpenCode knows the paths in a shell command only as
// far as it can read the command.
var modes = map[string]map[string]string{
	"":      nil,
	"build": nil,
	"plan":  {"edit": "deny"},
	"auto":  {"bash": "allow", "edit": "allow", "webfetch": "allow", "websearch": "allow"},
	"edits": {"bash": "ask", "webfetch": "ask", "websearch": "ask"},
	"ask":   {"bash": "ask", "webfetch": "ask", "websearch": "ask", "edit": "ask"},
}

// readers are the agents of OpenCode's own that may not change files, whatever the mode allows.
var readers = []string{"plan", "explore"}

// named are the agents for which a launch has rules. Those that a user has made are not known by name before the start.
var named = []string{"build", "plan", "general", "explore"}

// agentRules returns the rules of a launch for one of OpenCode's own agents. They come after the user's own rules. So the mode
// holds over what those allow; what they deny is given to the session again: see [Session].
func agentRules(s runtimes.Spec, agent string) rules {
	rules := rules{}
	for tool, action := range modes[s.Mode] {
		switch {
		case tool == "edit" && slices.Contains(readers, agent) && action != "deny":
		case s.Mode == "plan" && agent != "plan":
		default:
			rules.set(tool, everything, action)
		}
	}
	if s.Mode == "plan" && agent == "plan" {
		rules.set("edit", ".opencode/plans/*.md", "allow") // as OpenCode itself does
	}
	if slices.Contains(agentNames, agent) {
		rules.allow(s)
	}
	return rules
}

func (r rules) set(tool, pattern, action string) {
	if tool += ours; r[tool] == nil {
		r[tool] = map[string]string{}
	}
	r[tool][pattern] = action
}

// allow adds the rules that allow what an agent may do outside its working directory. OpenCode asks about another folder as a whole,
// and in addition about each change of a file. So the other files of a folder, of which only one may be changed, get a rule to ask.
func (r rules) allow(s runtimes.Spec) {
	for _, path := range slices.Concat(s.MayEdit, s.MayRead) {
		r.set("external_directory", filepath.Dir(path)+"/*", "allow") // a folder ends with a slash, and Dir removes only that
		for _, name := range patterns(s.Cwd, path) {
			r.set("read", name, "allow")
		}
	}
	for _, path := range s.MayEdit {
		if !strings.HasSuffix(path, "/") {
			for _, name := range patterns(s.Cwd, filepath.Dir(path)+"/") {
				r.set("edit", name, "ask")
			}
		}
	}
	for _, path := range s.MayEdit {
		for _, name := range patterns(s.Cwd, path) {
			r.set("edit", name, "allow")
		}
	}
}

// Session returns the rules of a session whose agents are to work in a mode, which come after the rules of each agent; nil: the
// mode needs none. agent is the name of the agent that works in it, and all are the server's agents.
//
// Of the user's rules, what they deny stays denied, and what they ask stays asked, except in the mode auto, where nobody is asked. What
// they allow is asked where the mode asks.
func Session(mode, agent string, all []Agent) (out []Rule) {
	caps := modes[mode]
	if len(caps) == 0 || mode == "plan" {
		return nil
	}
	var own, paths []Rule
	for _, a := range all {
		for _, r := range a.Rules {
			switch {
			case a.Name != agent:
			case !written(r.Permission):
				own = append(own, r)
			case r.Pattern != everything:
				paths = append(paths, r)
			}
		}
	}
	for _, tool := range slices.Sorted(maps.Keys(caps)) {
		for _, r := range own {
			if !matches(r.Permission, tool) {
				continue
			}
			action := r.Action
			if action == "allow" || action == "ask" && mode == "auto" {
				action = caps[tool]
			}
			out = append(out, Rule{tool, r.Pattern, action})
		}
	}
	if mode != "auto" {
		out = append(out, wide(own)...)
		for _, a := range all { // the agents of the user's own have the user's own rules
			if a.Mode != "primary" && !slices.Contains(named, a.Name) && actionOf(own, "task", a.Name) != "deny" {
				out = append(out, Rule{"task", a.Name, "ask"})
			}
		}
	}
	return append(out, paths...)
}

// wide returns a rule to ask about other folders if the user's rules allow all of them. The folders that the user or OpenCode
// itself names come after it.
func wide(own []Rule) (out []Rule) {
	const outside = "external_directory"
	if actionOf(own, outside, "/") != "allow" {
		return nil
	}
	out = append(out, Rule{outside, "*", "ask"})
	for _, r := range own {
		if r.Permission == outside && r.Pattern != "*" {
			out = append(out, r)
		}
	}
	return out
}

// actionOf returns the action of the last rule that matches.
func actionOf(rules []Rule, permission, value string) string {
	for _, r := range slices.Backward(rules) {
		if matches(r.Permission, permission) && matches(r.Pattern, value) {
			return r.Action
		}
	}
	return "ask"
}

// written reports whether a rule's permission is one of those that a launch writes.
func written(permission string) bool {
	tool, ours := strings.CutSuffix(permission, ours)
	return ours && slices.Contains([]string{"bash", "edit", "read", "webfetch", "websearch", "external_directory"}, tool)
}

// matches reports whether a pattern of OpenCode's matches: * stands for any characters, ? for one.
func matches(pattern, text string) bool {
	quoted := strings.NewReplacer(`\*`, ".*", `\?`, ".").Replace(regexp.QuoteMeta(pattern))
	ok, err := regexp.MatchString("(?s)^"+quoted+"$", text)
	return ok && err == nil
}
