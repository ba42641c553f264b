package runtimes

import (
	"slices"
	"strings"
)

// arity tells which arguments Claude Code's parser takes as the values of a flag.
type arity int

const (
	none     arity = iota
	one            // the next argument, whatever it looks like
	optional       // the next argument unless it begins with a dash
	many           // all arguments up to one that begins with a dash
)

// kept are the flags that a successor's session gets as well.
var kept = map[string]arity{
	"--add-dir": many, "--agent": one, "--agents": one,
	"--allow-dangerously-skip-permissions": none, "--allowedTools": many, "--allowed-tools": many,
	"--autocompact": one, "--betas": many, "--brief": none, "--chrome": none,
	"--dangerously-skip-permissions": none, "--disallowedTools": many, "--disallowed-tools": many,
	"--effort": one, "--exclude-dynamic-system-prompt-sections": none, "--fallback-model": one,
	"--ide": none, "--mcp-config": many, "--model": one, "--no-chrome": none,
	"--permission-mode": one, "--plugin-dir": one, "--plugin-url": one,
	"--prompt-suggestions": optional, "--restricted": none, "--setting-sources": one,
	"--strict-mcp-config": none, "--system-prompt": one, "--system-prompt-file": one,
	"--tools": many, "--verbose": none,
}

// dropped are the flags that parseOptions skips together with their values. Some belong to one session
// (its id, its name, our files). The others would keep us from supervising the next session. For example,
// --bare and --safe-mode switch off hooks, so the session never registers; with --ax-screen-reader, the
// screen looks different. parseOptions also drops a flag that is neither in kept nor in dropped. It
// does not know how many values such a flag has, so it reads the next argument as a prompt and drops that, too.
var dropped = map[string]arity{
	"--append-system-prompt": one, "--append-system-prompt-file": one, "--ax-screen-reader": none,
	"--background": none, "--bare": none, "--bg": none, "--cloud": optional, "--continue": none,
	"-c": none, "--debug": optional, "-d": optional, "--debug-file": one, "--disable-slash-commands": none,
	"--environment": one, "--file": many, "--fork-session": none, "--from-pr": optional,
	"--input-format": one, "--json-schema": one, "--max-budget-usd": one, "--name": one, "-n": one,
	"--output-format": one, "--permission-prompts": one, "--print": none, "-p": none,
	"--remote-control": optional, "--remote-control-session-name-prefix": one, "--resume": optional,
	"-r": optional, "--safe-mode": none, "--session-id": one, "--settings": one,
	"--system-prompt-snapshot": one, "--teleport": optional, "--tmux": none, "--worktree": optional, "-w": optional,
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
	if kept[o.name] == one {
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
			o.values, args = take(n, args)
		}
		if keep && (n != one || len(o.values) == 1) {
			out = append(out, o)
		}
	}
	return out
}

// take splits args, the arguments behind a flag, into the flag's values and the rest.
func take(n arity, args []string) (values, rest []string) {
	flag := func(a string) bool { return len(a) > 1 && a[0] == '-' }
	count := 0
	switch n {
	case one:
		count = min(1, len(args))
	case optional:
		if len(args) > 0 && !flag(args[0]) {
			count = 1
		}
	case many:
		if count = slices.IndexFunc(args, flag); count < 0 {
			count = len(args)
		}
	}
	return args[:count:count], args[count:]
}

func without(options []option, names ...string) []option {
	return slices.DeleteFunc(options, func(o option) bool { return slices.Contains(names, o.name) })
}
