package scripted

import (
	"fmt"
	"os"
	"strings"

	"github.com/google/uuid"

	"github.com/understudyd/understudy/daemon/runtimes/claude"
)

// Version is the release of Claude Code that the scripted agent imitates: the one that our tests run.
var Version = claude.Runtime.Can.Tested

// Options are the options of a parsed command line.
type Options struct {
	Settings     string // a file, or JSON text
	Name         string
	SystemPrompt string // text that --append-system-prompt(-file) gave
	Prompt       string
	Print        bool

	sessionID      string
	permissionMode string
	model          string
	resume         string
	fork           bool
	outputFormat   string
	reports        bool // answers the steps of pipelines with [Agent.Report]
	version        bool
}

// parseOptions reads the flags of Claude Code that a supervisor uses. An unknown flag is an error.
func parseOptions(args []string) (Options, error) {
	opt := Options{permissionMode: "auto", model: "claude-opus-5-5", outputFormat: "text"}
	var systemFile, ignored string
	values := map[string]*string{
		"--settings": &opt.Settings, "--session-id": &opt.sessionID,
		"--name": &opt.Name, "-n": &opt.Name,
		"--append-system-prompt": &opt.SystemPrompt, "--append-system-prompt-file": &systemFile,
		"--permission-mode": &opt.permissionMode, "--model": &opt.model,
		"--resume": &opt.resume, "-r": &opt.resume,
		"--output-format":          &opt.outputFormat,
		"--system-prompt-snapshot": &ignored, "--add-dir": &ignored, "--mcp-config": &ignored,
		"--plugin-dir": &ignored, "--autocompact": &ignored, "--effort": &ignored,
		"--allowedTools": &ignored, "--disallowedTools": &ignored,
	}
	var bypass, ignoredSwitch bool
	switches := map[string]*bool{
		"--fork-session": &opt.fork, "-p": &opt.Print, "--print": &opt.Print,
		"--version": &opt.version, "-v": &opt.version, "--report": &opt.reports,
		"--dangerously-skip-permissions": &bypass,
		"--strict-mcp-config":            &ignoredSwitch, "--no-session-persistence": &ignoredSwitch, "--verbose": &ignoredSwitch,
	}
	for i := 0; i < len(args); i++ {
		name, value, joined := strings.Cut(args[i], "=")
		target, isValue := values[name]
		on, isSwitch := switches[name]
		switch {
		case args[i] == "--":
			opt.Prompt = strings.Join(args[i+1:], " ")
			i = len(args)
		case !strings.HasPrefix(args[i], "-") || args[i] == "-":
			opt.Prompt = args[i]
		case isSwitch && !joined:
			*on = true
		case isValue && joined:
			*target = value
		case isValue && i+1 < len(args):
			i++
			*target = args[i]
		case isValue:
			return Options{}, fmt.Errorf("option '%s <value>' argument missing", name)
		default:
			return Options{}, fmt.Errorf("unknown option '%s'", name)
		}
	}
	if bypass {
		opt.permissionMode = "bypassPermissions"
	}
	return opt, opt.complete(systemFile)
}

// source returns why the session starts, as SessionStart reports it.
func (opt *Options) source() string {
	switch {
	case opt.resume == "":
		return "startup"
	case opt.fork:
		return "fork"
	}
	return "resume"
}

// complete checks the values and reads the file of the system prompt.
func (opt *Options) complete(systemFile string) error {
	if opt.sessionID != "" {
		if _, err := uuid.Parse(opt.sessionID); err != nil {
			return fmt.Errorf("invalid session ID %q: must be a valid UUID", opt.sessionID)
		}
	}
	switch opt.permissionMode {
	case "auto", "acceptEdits", "default", "dontAsk", "plan", "bypassPermissions":
	case "manual":
		opt.permissionMode = "default" // the name that hook payloads carry
	default:
		return fmt.Errorf("option '--permission-mode <mode>' argument '%s' is invalid", opt.permissionMode)
	}
	if systemFile != "" {
		text, err := os.ReadFile(systemFile)
		if err != nil {
			return fmt.Errorf("append system prompt file not found: %s", systemFile)
		}
		opt.SystemPrompt = string(text)
	}
	return nil
}
