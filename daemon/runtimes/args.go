package runtimes

import (
	"fmt"
	"slices"
	"strings"
)

// MaxArgs and MaxArgsBytes limit what an operator may add to an agent's command line.
const (
	MaxArgs      = 64
	MaxArgsBytes = 32 << 10
)

// OwnArgs says which flags of a CLI an operator cannot give to one agent, because the launch or the supervision depends on them.
// Every other flag goes to the CLI as it is, also one that we do not know.
type OwnArgs struct {
	Refused map[string]string // by flag: why
	Takes   map[string]Arity  // how many values a flag has; a flag that is not here has one unless the next argument begins with a dash
	Long    bool              // short flags must not be used: the CLI's parser takes "-pc" for "-p -c"
	Check   func(flag, value string) (why string)
}

// The reasons that several CLIs share.
const (
	WhySession  = "understudy chooses the session"
	WhyModel    = "use --model"
	WhyMode     = "use --mode"
	WhyCwd      = "use --cwd"
	WhyPrompt   = "use --prompt"
	WhySkill    = "the persona's skill.md is for that"
	WhyHeadless = "the agent would not run in its pane"
	WhyHooks    = "understudy would hear nothing of the agent"
	WhyAsk      = "it only prints something and exits"
	WhyServer   = "understudy talks to that server"
)

// Because makes a map in which each flag has the reason.
func Because(reasons map[string][]string) map[string]string {
	out := map[string]string{}
	for why, flags := range reasons {
		for _, flag := range flags {
			out[flag] = why
		}
	}
	return out
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
	case len(args) > MaxArgs:
		return fmt.Errorf("%d arguments are given, and at most %d are allowed", len(args), MaxArgs)
	case size > MaxArgsBytes:
		return fmt.Errorf("the arguments have %d bytes, and at most %d are allowed", size, MaxArgsBytes)
	case rt.OwnArgs == nil:
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
		case short && rt.OwnArgs.Refused[arg[:2]] != "":
			return refusedArg(arg[:2], rt.OwnArgs.Refused[arg[:2]])
		case short && rt.OwnArgs.Long:
			return fmt.Errorf("%q is a short flag: write the long one, so that it cannot be mistaken", arg)
		case short && len(arg) > 2:
			flag, value, joined = arg[:2], strings.TrimPrefix(arg[2:], "="), true
		}
		if why := rt.OwnArgs.refuse(flag); why != "" {
			return refusedArg(flag, why)
		}
		values := []string{value}
		if !joined {
			n, known := rt.OwnArgs.Takes[flag]
			if !known {
				n = TakesOptional
			}
			values, args = Take(n, args)
		}
		if rt.OwnArgs.Check == nil {
			continue
		}
		for _, v := range values {
			if why := rt.OwnArgs.Check(flag, v); why != "" {
				return refusedArg(strings.TrimSpace(flag+" "+v), why)
			}
		}
	}
	return nil
}

func refusedArg(arg, why string) error { return fmt.Errorf("%s cannot be given: %s", arg, why) }

// refuse says why a flag cannot be given; "": it can. It knows a flag by each form that one of the CLIs' parsers takes for it:
// --no-FLAG, and FLAG in camel case.
func (o *OwnArgs) refuse(flag string) string {
	name := strings.TrimPrefix(kebab(flag), "--")
	for _, is := range []string{flag, "--" + name, "--" + strings.TrimPrefix(name, "no-"), "--no-" + name} {
		if why := o.Refused[is]; why != "" {
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

// Arity tells which arguments Claude Code's parser takes as the values of a flag.
type Arity int

const (
	TakesNone     Arity = iota
	TakesOne            // the next argument, whatever it looks like
	TakesOptional       // the next argument unless it begins with a dash
	TakesMany           // all arguments up to one that begins with a dash
)

// Take splits args, the arguments behind a flag, into the flag's values and the rest.
func Take(n Arity, args []string) (values, rest []string) {
	flag := func(a string) bool { return len(a) > 1 && a[0] == '-' }
	count := 0
	switch n {
	case TakesOne:
		count = min(1, len(args))
	case TakesOptional:
		if len(args) > 0 && !flag(args[0]) {
			count = 1
		}
	case TakesMany:
		if count = slices.IndexFunc(args, flag); count < 0 {
			count = len(args)
		}
	}
	return args[:count:count], args[count:]
}
