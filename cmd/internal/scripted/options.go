package scripted

import (
	"fmt"
	"os"
	"strings"

	"github.com/google/uuid"
)

// version is the release of Claude Code whose behaviour is mirrored.
const version = "2.1.329"

// options are the command line, parsed.
type options struct {
	settings       string // a file, or JSON text
	sessionID      string
	name           string
	systemPrompt   string // text that --append-system-prompt(-file) gave
	permissionMode string
	model          string
	resume         string
	fork           bool
	behave         string
	print          bool
	outputFormat   string
	version        bool
	prompt         string
}

// parseOptions reads Claude Code's flags, as far as a supervisor uses them. An unknown flag is an error.
func parseOptions(args []string) (options, error) {
	opt := options{permissionMode: "auto", model: "claude-opus-5-5", outputFormat: "text"}
	var systemFile, ignored string
	values := map[string]*string{
		"--settings": &opt.settings, "--session-id": &opt.sessionID,
		"--name": &opt.name, "-n": &opt.name,
		"--append-system-prompt": &opt.systemPrompt, "--append-system-prompt-file": &systemFile,
		"--permission-mode": &opt.permissionMode, "--model": &opt.model,
		"--resume": &opt.resume, "-r": &opt.resume,
		"--behave": &opt.behave, "--output-format": &opt.outputFormat,
		"--system-prompt-snapshot": &ignored, "--add-dir": &ignored, "--mcp-config": &ignored,
		"--plugin-dir": &ignored, "--autocompact": &ignored, "--effort": &ignored,
		"--allowedTools": &ignored, "--disallowedTools": &ignored,
	}
	var bypass, ignoredSwitch bool
	switches := map[string]*bool{
		"--fork-session": &opt.fork, "-p": &opt.print, "--print": &opt.print,
		"--version": &opt.version, "-v": &opt.version,
		"--dangerously-skip-permissions": &bypass,
		"--strict-mcp-config":            &ignoredSwitch, "--no-session-persistence": &ignoredSwitch, "--verbose": &ignoredSwitch,
	}
	for i := 0; i < len(args); i++ {
		name, value, joined := strings.Cut(args[i], "=")
		target, isValue := values[name]
		on, isSwitch := switches[name]
		switch {
		case args[i] == "--":
			opt.prompt = strings.Join(args[i+1:], " ")
			i = len(args)
		case !strings.HasPrefix(args[i], "-") || args[i] == "-":
			opt.prompt = args[i]
		case isSwitch && !joined:
			*on = true
		case isValue && joined:
			*target = value
		case isValue && i+1 < len(args):
			i++
			*target = args[i]
		case isValue:
			return options{}, fmt.Errorf("option '%s <value>' argument missing", name)
		default:
			return options{}, fmt.Errorf("unknown option '%s'", name)
		}
	}
	if bypass {
		opt.permissionMode = "bypassPermissions"
	}
	return opt, opt.complete(systemFile)
}

// source is why the session starts, as its hook says.
func (opt *options) source() string {
	switch {
	case opt.resume == "":
		return "startup"
	case opt.fork:
		return "fork"
	}
	return "resume"
}

// complete checks the values and reads the file of the system prompt.
func (opt *options) complete(systemFile string) error {
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
		opt.systemPrompt = string(text)
	}
	return nil
}
