package service

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/understudyd/understudy/cmd/internal/proc"
)

const unitName = "understudy.service"

// systemdService returns a unit of the user's systemd or, for root, of the machine's systemd.
func systemdService(spec serviceSpec, home string) *service {
	ctl, journal, edit := []string{"systemctl", "--user"}, "journalctl --user -u understudy", "systemctl --user edit understudy"
	target, user := "default.target", ""
	dir := filepath.Join(configHome(spec.getenv, home), "systemd", "user")
	away := "log in as the user itself rather than by su or sudo, so that systemd --user runs, and run this again; " +
		"where there is no systemd, have what starts your programs run `understudy serve`"
	if spec.uid == 0 {
		ctl, journal, edit = []string{"systemctl"}, "journalctl -u understudy", "systemctl edit understudy"
		target, user = "multi-user.target", "User=root\n" // without it systemd sets no HOME
		dir = "/etc/systemd/system"
		away = "where systemd does not run, have what starts your programs run `understudy serve`"
	}
	do := func(words ...string) proc.CommandLine { return append(append(proc.CommandLine{}, ctl...), words...) }
	mark := "# Written by `understudy service install`"
	s := &service{
		path:     filepath.Join(dir, unitName),
		mark:     mark,
		root:     spec.root,
		rootIn:   unitRoot,
		log:      journal + " -n 20",
		active:   do("is-active", "--quiet", unitName),
		start:    []proc.CommandLine{do("daemon-reload"), do("enable", "--now", unitName)},
		renew:    []proc.CommandLine{do("daemon-reload"), do("enable", unitName), do("restart", unitName)},
		keep:     []proc.CommandLine{do("enable", unitName)},
		stop:     []proc.CommandLine{do("disable", "--now", unitName)},
		drop:     []proc.CommandLine{do("disable", unitName)},
		forget:   []proc.CommandLine{do("daemon-reload")},
		away:     away,
		patience: 30 * time.Second,
	}
	if spec.uid != 0 {
		s.lingers = lingerHint(spec.getenv("USER"))
	}
	var env strings.Builder
	for _, v := range spec.env {
		fmt.Fprintf(&env, "Environment=%s\n", unitValue(v))
	}
	words := unitPath(spec.binary)
	for _, word := range spec.words()[1:] {
		if strings.HasPrefix(word, "/") {
			word = unitArgument(word)
		}
		words += " " + word
	}
	s.secrets = spec.envText()
	s.content = fmt.Sprintf(unitText, mark, edit, words, user, env.String(), target)
	return s
}

// unitText is the format of the unit: the mark, the command for changes, the command line, the user, the environment and
// the target.
const unitText = `%s, which writes it anew. What you change goes beside it: %s
[Unit]
Description=understudy: supervises coding agents and hands their work on
Documentation=https://github.com/understudyd/understudy
# However often it could not start, for want of a network or a database, it is started again.
StartLimitIntervalSec=0

[Service]
Type=exec
ExecStart=%s
ExecReload=kill -HUP $MAINPID
%s# The tmux server with all agents is in this control group. They go on when the daemon stops, and when
# one of their programs is ended for lack of memory it goes on as well.
KillMode=process
OOMPolicy=continue
TasksMax=infinity
Restart=on-failure
RestartSec=5s
TimeoutStopSec=30s
# Of who installed this. The daemon, the agents and their tools are found by this PATH.
%s
[Install]
WantedBy=%s
`

// unitRoot returns the data directory that is named in a unit of this package, without the quotes of unitArgument.
func unitRoot(unit string) string {
	line := regexp.MustCompile(`(?m)^ExecStart=.* serve --data "((?:[^"\\]|\\.)*)"`).FindStringSubmatch(unit)
	if line == nil {
		return ""
	}
	return strings.NewReplacer(`\\`, `\`, `\"`, `"`, "%%", "%", "$$", "$").Replace(line[1])
}

// configHome returns the folder of a user's settings. It ignores a relative XDG_CONFIG_HOME, as the standard says.
func configHome(getenv func(string) string, home string) string {
	if dir := getenv("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return filepath.Clean(dir)
	}
	return filepath.Join(home, ".config")
}

// unitValue quotes a value for systemd. It doubles the % of specifiers, and escapes quotes and backslashes.
func unitValue(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "%", "%%").Replace(s) + `"`
}

// unitArgument quotes an argument of a command line, in which systemd replaces variables.
func unitArgument(s string) string { return strings.ReplaceAll(unitValue(s), "$", "$$") }

// unitPath quotes the program of a command line, in which systemd replaces no variables.
func unitPath(s string) string { return unitValue(s) }
