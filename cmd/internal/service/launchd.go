package service

import (
	"encoding/xml"
	"fmt"
	"html"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/understudyd/understudy/cmd/internal/proc"
)

// LaunchLabel is the name of the service for launchd.
const LaunchLabel = "io.github.understudyd.understudy"

// launchdService returns an agent of the user's graphical session or, for root, a daemon of the machine.
func launchdService(spec serviceSpec, home string) *service {
	domain, library := fmt.Sprintf("gui/%d", spec.uid), filepath.Join(home, "Library")
	dir := filepath.Join(library, "LaunchAgents")
	if spec.uid == 0 {
		domain, library, dir = "system", "/Library", "/Library/LaunchDaemons"
		spec.env = append([]string{"HOME=/var/root"}, spec.env...)
	}
	s := &service{path: filepath.Join(dir, LaunchLabel+".plist"), root: spec.root, rootIn: plistRoot, patience: 30 * time.Second}
	target := domain + "/" + LaunchLabel
	logFile := filepath.Join(library, "Logs", "understudy.log")
	take := []proc.CommandLine{{"launchctl", "enable", target}, {"launchctl", "bootstrap", domain, s.path}}
	leave := proc.CommandLine{"launchctl", "bootout", target}
	s.active = proc.CommandLine{"launchctl", "print", target}
	s.start, s.renew, s.stop = take, append([]proc.CommandLine{leave}, take...), []proc.CommandLine{leave}
	s.log = "tail -n 20 " + proc.ShellQuote(logFile)
	s.away = "log in at the machine itself, and run this again"
	s.secrets = spec.envText()
	s.mark = xml.Header + "<!-- Written by `understudy service install`"
	s.content = fmt.Sprintf(plistText, s.mark, LaunchLabel, plistStrings(spec.words()), plistEnv(spec.env), plistString(logFile))
	return s
}

// plistText is the format of the property list: the mark, the label, the arguments, the environment, and the log for
// both streams.
const plistText = `%s, which writes it anew. -->
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
	<key>Label</key>
	<string>%s</string>
	<key>ProgramArguments</key>
	<array>
%s	</array>
	<!-- Of who installed this. The daemon, the agents and their tools are found by this PATH. -->
	<key>EnvironmentVariables</key>
	<dict>
%s	</dict>
	<key>RunAtLoad</key>
	<true/>
	<key>KeepAlive</key>
	<dict>
		<key>SuccessfulExit</key>
		<false/>
	</dict>
	<key>ThrottleInterval</key>
	<integer>5</integer>
	<key>ExitTimeOut</key>
	<integer>30</integer>
	<!-- The tmux server with all agents goes on when the daemon stops. -->
	<key>AbandonProcessGroup</key>
	<true/>
	<!-- Else agents, and what they build, are slowed down as work in the background is. -->
	<key>ProcessType</key>
	<string>Interactive</string>
	<key>StandardOutPath</key>
	%[5]s
	<key>StandardErrorPath</key>
	%[5]s
</dict>
</plist>
`

// plistElement returns an element of a property list, with its text quoted.
func plistElement(tag, s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a Builder never fails
	return "<" + tag + ">" + b.String() + "</" + tag + ">"
}

func plistString(s string) string { return plistElement("string", s) }

// plistRoot returns the data directory that is named in a property list of this package.
func plistRoot(plist string) string {
	root := regexp.MustCompile(`<string>--data</string>\s*<string>([^<]*)</string>`).FindStringSubmatch(plist)
	if root == nil {
		return ""
	}
	return html.UnescapeString(root[1])
}

func plistStrings(list []string) string {
	var b strings.Builder
	for _, s := range list {
		fmt.Fprintf(&b, "\t\t%s\n", plistString(s))
	}
	return b.String()
}

func plistEnv(env []string) string {
	var b strings.Builder
	for _, v := range env {
		name, value, _ := strings.Cut(v, "=")
		fmt.Fprintf(&b, "\t\t%s\n\t\t%s\n", plistElement("key", name), plistString(value))
	}
	return b.String()
}
