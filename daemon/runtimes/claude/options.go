package claude

import (
	"slices"
	"strings"

	"github.com/understudyd/understudy/daemon/runtimes"
)

// kept are the flags that a successor's session gets as well.
var kept = map[string]runtimes.Arity{
	"--add-dir": runtimes.TakesMany, "--agent": runtimes.TakesOne, "--agents": runtimes.TakesOne,
	"--allow-dangerously-skip-permissions": runtimes.TakesNone, "--allowedTools": runtimes.TakesMany, "--allowed-tools": runtimes.TakesMany,
	"--autocompact": runtimes.TakesOne, "--betas": runtimes.TakesMany, "--brief": runtimes.TakesNone, "--chrome": runtimes.TakesNone,
	"--dangerously-skip-permissions": runtimes.TakesNone, "--disallowedTools": runtimes.TakesMany, "--disallowed-tools": runtimes.TakesMany,
	"--effort": runtimes.TakesOne, "--exclude-dynamic-system-prompt-sections": runtimes.TakesNone, "--fallback-model": runtimes.TakesOne,
	"--ide": runtimes.TakesNone, "--mcp-config": runtimes.TakesMany, "--model": runtimes.TakesOne, "--no-chrome": runtimes.TakesNone,
	"--permission-mode": runtimes.TakesOne, "--plugin-dir": runtimes.TakesOne, "--plugin-url": runtimes.TakesOne,
	"--prompt-suggestions": runtimes.TakesOptional, "--restricted": runtimes.TakesNone, "--setting-sources": runtimes.TakesOne,
	"--strict-mcp-config": runtimes.TakesNone, "--system-prompt": runtimes.TakesOne, "--system-prompt-file": runtimes.TakesOne,
	"--tools": runtimes.TakesMany, "--verbose": runtimes.TakesNone,
}

// dropped are the flags that parseOptions skips together with their values. Some belong to one session
// (its id, its name, our files). The others would keep us from supervising the next session. For example,
// --bare and --safe-mode switch off hooks, so the session never registers; with --ax-screen-reader, the
// screen looks different. parseOptions also drops a flag that is neither in kept nor in dropped. It
// does not know how many values such a flag has, so it reads the next argument as a prompt and drops that, too.
var dropped = map[string]runtimes.Arity{
	"--append-system-prompt": runtimes.TakesOne, "--append-system-prompt-file": runtimes.TakesOne, "--ax-screen-reader": runtimes.TakesNone,
	"--background": runtimes.TakesNone, "--bare": runtimes.TakesNone, "--bg": runtimes.TakesNone, "--cloud": runtimes.TakesOptional, "--continue": runtimes.TakesNone,
	"-c": runtimes.TakesNone, "--debug": runtimes.TakesOptional, "-d": runtimes.TakesOptional, "--debug-file": runtimes.TakesOne, "--disable-slash-commands": runtimes.TakesNone,
	"--environment": runtimes.TakesOne, "--file": runtimes.TakesMany, "--fork-session": runtimes.TakesNone, "--from-pr": runtimes.TakesOptional,
	"--input-format": runtimes.TakesOne, "--json-schema": runtimes.TakesOne, "--max-budget-usd": runtimes.TakesOne, "--name": runtimes.TakesOne, "-n": runtimes.TakesOne,
	"--output-format": runtimes.TakesOne, "--permission-prompts": runtimes.TakesOne, "--print": runtimes.TakesNone, "-p": runtimes.TakesNone,
	"--remote-control": runtimes.TakesOptional, "--remote-control-session-name-prefix": runtimes.TakesOne, "--resume": runtimes.TakesOptional,
	"-r": runtimes.TakesOptional, "--safe-mode": runtimes.TakesNone, "--session-id": runtimes.TakesOne, "--settings": runtimes.TakesOne,
	"--system-prompt-snapshot": runtimes.TakesOne, "--teleport": runtimes.TakesOptional, "--tmux": runtimes.TakesNone, "--worktree": runtimes.TakesOptional, "-w": runtimes.TakesOptional,
}

// option is one flag with its values.
type option struct {
	name   string
	values []string
}

// InheritOptions returns the flags of a running agent that its successor gets as well: model, permission
// mode, tools, MCP servers, directories and the like. It leaves out the prompt, the session, the name, the
// settings and additions to the system prompt. argv is the agent's whole argument list, program included.
func InheritOptions(argv []string) []string {
	if len(argv) == 0 {
		return nil
	}
	var out []string
	for _, o := range parseOptions(argv[1:]) {
		out = append(out, o.argv()...)
	}
	return out
}

// argv returns the arguments for an option. For a flag that always has one value it returns "--flag value".
// For other flags it returns "--flag=value" for each value; otherwise Claude Code would take the prompt behind
// the flag for one more value.
func (o option) argv() []string {
	if len(o.values) == 0 {
		return []string{o.name}
	}
	if kept[o.name] == runtimes.TakesOne {
		return []string{o.name, o.values[0]}
	}
	out := make([]string, 0, len(o.values))
	for _, v := range o.values {
		out = append(out, o.name+"="+v)
	}
	return out
}

// parseOptions returns the kept flags of an argument list.
func parseOptions(args []string) []option {
	var out []option
	for len(args) > 0 && args[0] != "--" {
		arg := args[0]
		args = args[1:]
		if !strings.HasPrefix(arg, "-") {
			continue // a prompt, or the script of an interpreter
		}
		name, value, joined := strings.Cut(arg, "=")
		n, keep := kept[name]
		if !keep {
			n = dropped[name]
		}
		o := option{name: name}
		if joined {
			o.values = []string{value}
		} else {
			o.values, args = runtimes.Take(n, args)
		}
		if keep && (n != runtimes.TakesOne || len(o.values) == 1) {
			out = append(out, o)
		}
	}
	return out
}

func without(options []option, names ...string) []option {
	return slices.DeleteFunc(options, func(o option) bool { return slices.Contains(names, o.name) })
}

// OptionMode returns the permission mode that flags of Claude Code name; "": they name none.
func OptionMode(options []string) (mode string) {
	for _, o := range parseOptions(options) {
		switch {
		case o.name == "--dangerously-skip-permissions":
			return "bypassPermissions"
		case o.name == "--permission-mode" && len(o.values) == 1:
			mode = o.values[0]
		}
	}
	return mode
}
