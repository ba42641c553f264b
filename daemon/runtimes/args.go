package runtimes

import (
	"fmt"
	"slices"
	"strings"
)

// maxArgs and maxArgsBytes limit what an operator may add to an agent's command line.
const (
	maxArgs      = 64
	maxArgsBytes = 32 << 10
)

// ownArgs says which flags of a CLI an operator cannot give to one agent, because the launch or the supervision depends on them.
// Every other flag goes to the CLI as it is, also one that we do not know.
type ownArgs struct {
	refused map[string]string // by flag: why
	takes   map[string]arity  // how many values a flag has; a flag that is not here has one unless the next argument begins with a dash
	long    bool              // short flags must not be used: the CLI's parser takes "-pc" for "-p -c"
	check   func(flag, value string) (why string)
}

// The reasons that several CLIs share.
const (
	whySession  = "understudy chooses the session"
	whyModel    = "use --model"
	whyMode     = "use --mode"
	whyCwd      = "use --cwd"
	whyPrompt   = "use --prompt"
	whySkill    = "the persona's skill.md is for that"
	whyHeadless = "the agent would not run in its pane"
	whyHooks    = "understudy would hear nothing of the agent"
	whyAsk      = "it only prints something and exits"
	whyServer   = "understudy talks to that server"
)

// because makes a map in which each flag has the reason.
func because(reasons map[string][]string) map[string]string {
	out := map[string]string{}
	for why, flags := range reasons {
		for _, flag := range flags {
			out[flag] = why
		}
	}
	return out
}

var claudeArgs = &ownArgs{
	refused: because(map[string][]string{
		whySession:  {"--session-id", "--resume", "--continue", "--fork-session", "--from-pr", "--teleport", "--name"},
		whyModel:    {"--model"},
		whyMode:     {"--permission-mode", "--dangerously-skip-permissions"},
		whyCwd:      {"--worktree", "--tmux"},
		whySkill:    {"--system-prompt", "--system-prompt-file", "--append-system-prompt", "--append-system-prompt-file", "--system-prompt-snapshot"},
		whyHeadless: {"--print", "--background", "--bg", "--cloud", "--environment", "--remote-control", "--remote-control-session-name-prefix", "--input-format", "--output-format", "--json-schema", "--max-budget-usd", "--permission-prompts"},
		whyHooks:    {"--settings", "--bare", "--safe-mode", "--ax-screen-reader", "--disable-slash-commands"},
		whyAsk:      {"--help", "--version"},
	}),
	takes: kept, long: true,
}

var codexArgs = &ownArgs{
	refused: because(map[string][]string{
		whyModel:    {"-m", "--model"},
		whyMode:     {"-s", "--sandbox", "-a", "--ask-for-approval", "--approve-for-me", "--full-auto", "--yolo", "--dangerously-bypass-approvals-and-sandbox"},
		whyCwd:      {"-C", "--cd"},
		whyHeadless: {"--remote"},
		whyHooks:    {"--no-daemon", "--dangerously-bypass-hook-trust"},
		whyAsk:      {"-h", "--help", "-V", "--version"},
	}),
	takes: map[string]arity{"--search": none, "--no-alt-screen": none, "--oss": none, "-c": one, "--config": one, "--add-dir": one, "--enable": one, "--disable": one, "-p": one, "--profile": one},
	check: func(flag, value string) string {
		if flag != "-c" && flag != "--config" {
			return ""
		}
		key, _, _ := strings.Cut(value, "=")
		key = strings.TrimSpace(key)
		switch root, _, _ := strings.Cut(key, "."); root {
		case "hooks":
			return whyHooks
		case "developer_instructions":
			return whySkill
		case "model":
			return whyModel
		case "sandbox_mode", "approval_policy":
			return whyMode
		case "check_for_update_on_startup", "analytics", "notice":
			return "understudy sets it, so that no dialog waits for an answer that nobody gives"
		}
		return ""
	},
}

var opencodeArgs = &ownArgs{
	refused: because(map[string][]string{
		whySession: {"-s", "--session", "-c", "--continue", "--fork"},
		whyModel:   {"-m", "--model"},
		whyMode:    {"--agent", "--auto"},
		whyPrompt:  {"--prompt"},
		whyServer:  {"--port", "--hostname", "--mdns", "--mdns-domain", "--cors"},
		whyAsk:     {"-h", "--help", "-v", "--version"},
	}),
	takes: map[string]arity{"--pure": none, "--print-logs": none, "--log-level": one}, long: true,
}

var ompArgs = &ownArgs{
	refused: because(map[string][]string{
		whySession:  {"-r", "--resume", "-c", "--continue", "--session", "--session-dir", "--no-session", "--fork"},
		whyModel:    {"--model"},
		whyMode:     {"--approval-mode", "--auto-approve"},
		whySkill:    {"--system-prompt", "--append-system-prompt"},
		whyHeadless: {"-p", "--print", "--mode"},
		whyHooks:    {"--config", "--no-extensions"},
		whyAsk:      {"-h", "--help", "-v", "--version", "--list-models", "--export"},
	}),
	takes: map[string]arity{"--no-title": none, "--no-tools": none}, long: true,
}

var geminiArgs = &ownArgs{
	refused: because(map[string][]string{
		whySession:  {"--session-id", "-r", "--resume", "--session-file", "--delete-session"},
		whyModel:    {"-m", "--model"},
		whyMode:     {"--approval-mode", "-y", "--yolo"},
		whyCwd:      {"-w", "--worktree"},
		whyPrompt:   {"-i", "--prompt-interactive"},
		whyHeadless: {"-p", "--prompt", "-o", "--output-format", "--acp", "--experimental-acp", "-s", "--sandbox"},
		whyHooks:    {"--screen-reader", "--admin-policy"},
		whyAsk:      {"-h", "--help", "-v", "--version", "--list-sessions", "-l", "--list-extensions"},
	}),
	takes: map[string]arity{"--skip-trust": none, "--debug": none}, long: true,
}

// CheckArgs refuses arguments that an operator cannot add to the command line of an agent. Its error is for people.
func (rt *Runtime) CheckArgs(args []string) error {
	size := 0
	for _, a := range args {
		size += len(a)
		if strings.ContainsRune(a, 0) {
			return fmt.Errorf("argument %q contains a NUL byte", a)
		}
	}
	switch {
	case len(args) > maxArgs:
		return fmt.Errorf("%d arguments are given, and at most %d are allowed", len(args), maxArgs)
	case size > maxArgsBytes:
		return fmt.Errorf("the arguments have %d bytes, and at most %d are allowed", size, maxArgsBytes)
	case rt.args == nil:
		return nil // a CLI that we do not know: its command is the operator's own
	}
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		flag, value, joined := strings.Cut(arg, "=")
		short := len(arg) > 1 && arg[0] == '-' && arg[1] != '-'
		switch {
		case arg == "--" || !strings.HasPrefix(arg, "-") || arg == "-":
			return fmt.Errorf("%q is not a flag of %s: a prompt is given with --prompt", arg, rt.Title)
		case short && rt.args.refused[arg[:2]] != "":
			return refusedArg(arg[:2], rt.args.refused[arg[:2]])
		case short && rt.args.long:
			return fmt.Errorf("%q is a short flag: write the long one, so that it cannot be mistaken", arg)
		case short && len(arg) > 2:
			flag, value, joined = arg[:2], strings.TrimPrefix(arg[2:], "="), true
		}
		if why := rt.args.refuse(flag); why != "" {
			return refusedArg(flag, why)
		}
		values := []string{value}
		if !joined {
			n, known := rt.args.takes[flag]
			if !known {
				n = optional
			}
			values, args = take(n, args)
		}
		if rt.args.check == nil {
			continue
		}
		for _, v := range values {
			if why := rt.args.check(flag, v); why != "" {
				return refusedArg(strings.TrimSpace(flag+" "+v), why)
			}
		}
	}
	return nil
}

func refusedArg(arg, why string) error { return fmt.Errorf("%s cannot be given: %s", arg, why) }

// refuse says why a flag cannot be given; "": it can. It knows a flag by each form that one of the CLIs' parsers takes for it:
// --no-FLAG, and FLAG in camel case.
func (o *ownArgs) refuse(flag string) string {
	name := strings.TrimPrefix(kebab(flag), "--")
	for _, is := range []string{flag, "--" + name, "--" + strings.TrimPrefix(name, "no-"), "--no-" + name} {
		if why := o.refused[is]; why != "" {
			return why
		}
	}
	return ""
}

// kebab writes a flag in camel case with hyphens.
func kebab(flag string) string {
	var b strings.Builder
	for _, r := range flag {
		if r >= 'A' && r <= 'Z' {
			b.WriteByte('-')
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}

// command returns the first part of an agent's command line. What the operator has added stands before all that the launch adds, so
// that the launch's flags, which come last, hold.
func (s *Spec) command() []string { return slices.Concat(s.Command, s.Args) }
