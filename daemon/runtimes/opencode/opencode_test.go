package opencode

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

var must, equal = wardentest.Must, wardentest.Equal

func value[T any](v T, err error) func(testing.TB) T { return wardentest.Value(v, err) }

func spec() runtimes.Spec {
	return runtimes.Spec{
		AgentID: 7, Name: "ada", Cwd: "/home/dev/work", Command: []string{"opencode"}, Dir: "/data/run/launch/7", SkillText: "# Ada",
		MayEdit: []string{"/data/personas/ada/handoffs/", "/data/personas/ada/experience.md"}, MayRead: []string{"/data/run/launch/7/task.md"},
		Server: runtimes.Server{Port: 4711, Password: "secret-of-the-launch"},
	}
}

// TestLaunch: all that is long or secret is in files and the environment, not in the argument list.
func TestLaunch(t *testing.T) {
	t.Parallel()
	s := spec()
	s.Resume, s.Mode, s.Model = "ses_dfe71274cffeJ3nK66qAu2YxOs", "plan", "fake/fake-1"
	l := value(Runtime.Launch(s))(t)
	want := []string{"opencode", "--hostname", "127.0.0.1", "--port", "4711", "--agent", "plan", "-s", s.Resume}
	if !slices.Equal(l.Argv, want) || l.SessionID != s.Resume {
		t.Errorf("argv %q, session %q", l.Argv, l.SessionID)
	}
	if strings.Contains(strings.Join(l.Argv, " "), s.Server.Password) || !slices.Contains(l.Env, "OPENCODE_SERVER_PASSWORD="+s.Server.Password) {
		t.Errorf("the password is not in the environment alone: %q %q", l.Argv, l.Env)
	}
	var conf struct {
		Model        string
		Instructions []string
		Autoupdate   bool
		Share        string
	}
	must(t, json.Unmarshal([]byte(settingsOf(l)), &conf))
	for _, f := range l.Files {
		if f.Path != runtimes.SkillFile(s.Dir) || string(f.Content) != s.SkillText {
			t.Errorf("file %s: %q", f.Path, f.Content)
		}
	}
	if conf.Model != s.Model || !slices.Equal(conf.Instructions, []string{runtimes.SkillFile(s.Dir)}) || conf.Autoupdate || conf.Share != "disabled" {
		t.Errorf("settings %+v", conf)
	}
}

// settingsOf returns the settings in the environment of a launch.
func settingsOf(l runtimes.Launch) string {
	for _, kv := range l.Env {
		if settings, ok := strings.CutPrefix(kv, "OPENCODE_CONFIG_CONTENT="); ok {
			return settings
		}
	}
	return ""
}

// with returns OpenCode's agents as the server tells them of a launch in a mode, with the user's rules: OpenCode's own, then
// the user's, then those of the launch.
func with(t *testing.T, mode string, user ...Rule) []Agent {
	t.Helper()
	s := spec()
	s.Mode = mode
	l := value(Runtime.Launch(s))(t)
	var conf config
	must(t, json.Unmarshal([]byte(settingsOf(l)), &conf))
	defaults := []Rule{{"*", "*", "allow"}, {"doom_loop", "*", "ask"}, {"external_directory", "*", "ask"}, {"external_directory", "/tmp/oc/*", "allow"}}
	agents := []Agent{
		{"build", "primary", nil}, {"plan", "primary", []Rule{{"edit", "*", "deny"}}}, {"general", "subagent", nil},
		{"explore", "subagent", []Rule{{"*", "*", "deny"}, {"bash", "*", "allow"}}}, {"mason", "subagent", nil},
	}
	for i := range agents {
		rules := slices.Concat(defaults, agents[i].Rules, user)
		ours := conf.Agent[agents[i].Name].Permission
		for _, tool := range slices.Sorted(maps.Keys(ours)) {
			for _, pattern := range slices.Sorted(maps.Keys(ours[tool])) {
				rules = append(rules, Rule{tool, pattern, ours[tool][pattern]})
			}
		}
		agents[i].Rules = rules
	}
	return agents
}

// TestPermissions: the narrower of the mode and the user's own settings holds, what the user denies is denied, and the paths of
// the persona are allowed.
func TestPermissions(t *testing.T) {
	t.Parallel()
	loose := []Rule{{"*", "*", "allow"}, {"bash", "*", "allow"}, {"edit", "*", "allow"}, {"external_directory", "*", "allow"}, {"external_directory", "/src/*", "allow"}}
	denies := []Rule{{"bash", "*", "ask"}, {"bash", "rm *", "deny"}, {"edit", "*", "deny"}, {"task", "mason", "deny"}}
	mixed := []Rule{{"bash", "*", "deny"}, {"bash", "echo *", "allow"}, {"edit", "*.md", "deny"}, {"edit", "a.md", "allow"}}
	for _, c := range []struct {
		name, mode, agent string
		user              []Rule
		want              string // of: bash "echo 1", bash "rm x", edit "a.md", edit "b.go", other folders, /tmp/oc/x, the task mason
	}{
		{"nothing", "ask", "build", nil, "ask ask ask ask ask allow ask"},
		{"nothing", "edits", "build", nil, "ask ask allow allow ask allow ask"},
		{"nothing", "auto", "build", nil, "allow allow allow allow ask allow allow"},
		{"nothing", "", "build", nil, "allow allow allow allow ask allow allow"},
		{"loose", "ask", "build", loose, "ask ask ask ask ask allow ask"},
		{"loose", "edits", "build", loose, "ask ask allow allow ask allow ask"},
		{"denies", "ask", "build", denies, "ask deny deny deny ask allow deny"},
		{"denies", "edits", "build", denies, "ask deny deny deny ask allow deny"},
		{"denies", "auto", "build", denies, "allow deny deny deny ask allow deny"},
		{"mixed", "ask", "build", mixed, "ask deny ask ask ask allow ask"},
		{"mixed", "auto", "build", mixed, "allow deny allow allow ask allow allow"},
		{"loose", "plan", "plan", loose, "allow allow deny deny allow allow allow"},
		{"loose", "ask", "general", loose, "ask ask ask ask ask allow ask"},
		{"loose", "ask", "mason", loose, "ask ask ask ask ask allow ask"}, // the user's default agent
	} {
		agents := with(t, c.mode, c.user...)
		rules := Session(c.mode, c.agent, agents)
		rules = slices.Concat(agents[slices.IndexFunc(agents, func(a Agent) bool { return a.Name == c.agent })].Rules, rules)
		var got []string
		for _, q := range [][2]string{
			{"bash", "echo 1"}, {"bash", "rm x"}, {"edit", "a.md"}, {"edit", "b.go"}, {"external_directory", "/elsewhere/*"},
			{"external_directory", "/tmp/oc/x"}, {"task", "mason"},
		} {
			got = append(got, actionOf(rules, q[0], q[1]))
		}
		equal(t, c.name+", mode "+c.mode+" of "+c.agent, strings.Join(got, " "), c.want)
		if !slices.Contains(agentNames, c.agent) {
			continue
		}
		for _, path := range []string{"../../../data/personas/ada/handoffs/x.md", "data/personas/ada/experience.md", "/data/personas/ada/handoffs/x.md"} {
			equal(t, c.name+", mode "+c.mode+": edit "+path, actionOf(rules, "edit", path), "allow")
		}
		if got := actionOf(rules, "edit", "data/personas/ada/skill.md"); got == "allow" {
			t.Errorf("%s, mode %q: a file beside is allowed", c.name, c.mode)
		}
		equal(t, c.name+", mode "+c.mode+": the folder", actionOf(rules, "external_directory", "/data/personas/ada/handoffs/*"), "allow")
	}
}

// TestSubagents: a sub-agent gets of its parent session what that denies, and works by the rules of the launch for the rest.
func TestSubagents(t *testing.T) {
	t.Parallel()
	agents := with(t, "ask", Rule{"bash", "*", "allow"}, Rule{"edit", "*", "deny"})
	inherited := slices.DeleteFunc(Session("ask", "build", agents), func(r Rule) bool { return r.Action != "deny" })
	for name, want := range map[string]string{"general": "ask deny", "explore": "ask deny"} {
		rules := slices.Concat(agents[slices.IndexFunc(agents, func(a Agent) bool { return a.Name == name })].Rules, inherited)
		equal(t, name, actionOf(rules, "bash", "ls")+" "+actionOf(rules, "edit", "a.go"), want)
	}
}

// TestRefuses: an error names what to put right.
func TestRefuses(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*runtimes.Spec){
		"runtimes.opencode.command": func(s *runtimes.Spec) { s.Command = nil },
		"not absolute":              func(s *runtimes.Spec) { s.Dir = "launch" },
		"no port":                   func(s *runtimes.Spec) { s.Server = runtimes.Server{} },
		"not one of OpenCode's":     func(s *runtimes.Spec) { s.Resume = "-c" },
		"use one of ask":            func(s *runtimes.Spec) { s.Mode = "bypass" },
		"NUL":                       func(s *runtimes.Spec) { s.Model = "a\x00b" },
	} {
		s := spec()
		change(&s)
		wardentest.Failed(Runtime.Launch(s))(t, "refused launch", want)
	}
	for version, ok := range map[string]bool{"1.18.33": true, "2.0.1": true, "0.15.2": false, "1.17.9": false, "dev": true, "": true} {
		equal(t, version+": taken", Runtime.CheckVersion(version) == nil, ok)
	}
}
