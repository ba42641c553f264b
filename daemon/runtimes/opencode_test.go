package runtimes

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func opencodeSpec() Spec {
	return Spec{
		AgentID: 7, Name: "ada", Cwd: "/home/dev/work", Command: []string{"opencode"}, Dir: "/data/run/launch/7", SkillText: "# Ada",
		MayEdit: []string{"/data/personas/ada/handoffs/", "/data/personas/ada/experience.md"}, MayRead: []string{"/data/run/launch/7/task.md"},
		Server: Server{Port: 4711, Password: "secret-of-the-launch"}, Prompt: "begin",
	}
}

// TestOpencodeLaunch: all that is long or secret is in files and the environment, not in the argument list.
func TestOpencodeLaunch(t *testing.T) {
	t.Parallel()
	s := opencodeSpec()
	s.Resume, s.Mode, s.Model = "ses_dfe71274cffeJ3nK66qAu2YxOs", "plan", "fake/fake-1"
	l, err := launchOpencode(s)
	if err != nil {
		t.Fatal(err)
	}
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
	for _, f := range l.Files {
		if filepath.Base(f.Path) == "opencode.json" {
			if err := json.Unmarshal(f.Content, &conf); err != nil {
				t.Fatal(err)
			}
		} else if f.Path != SkillFile(s.Dir) || string(f.Content) != s.SkillText {
			t.Errorf("file %s: %q", f.Path, f.Content)
		}
	}
	if conf.Model != s.Model || !slices.Equal(conf.Instructions, []string{SkillFile(s.Dir)}) || conf.Autoupdate || conf.Share != "disabled" {
		t.Errorf("settings %+v", conf)
	}
}

// TestOpencodePermissions: the paths of the persona are allowed after the user's own rules, and a mode replaces those.
func TestOpencodePermissions(t *testing.T) {
	t.Parallel()
	for mode, bash := range map[string]string{"": "", "plan": "", "auto": "", "edits": "ask", "ask": "ask"} {
		s := opencodeSpec()
		s.Mode = mode
		l, err := launchOpencode(s)
		if err != nil {
			t.Fatal(err)
		}
		var conf opencodeConfig
		if err := json.Unmarshal(l.Files[len(l.Files)-1].Content, &conf); err != nil {
			t.Fatal(err)
		}
		if conf.Permission["bash"] != bash || (mode == "" || mode == "plan") != (conf.Permission == nil) {
			t.Errorf("%q: permissions %v", mode, conf.Permission)
		}
		for _, agent := range opencodeAgents {
			p := conf.Agent[agent].Permission
			for pattern, want := range map[string]string{
				"../../../data/personas/ada/handoffs/*": "allow", "data/personas/ada/experience.md": "allow", "data/personas/ada/*": "ask",
				"/data/personas/ada/handoffs/*": "allow",
			} {
				if p["edit"][pattern] != want {
					t.Errorf("%q: edit %s: %q, want %q", mode, pattern, p["edit"][pattern], want)
				}
			}
			if p["external_directory"]["/data/personas/ada/handoffs/*"] != "allow" || p["external_directory"]["*"] != "" {
				t.Errorf("%q: folders %v", mode, p["external_directory"])
			}
			if _, ok := p["edit"]["/data/run/launch/7/task.md"]; ok {
				t.Errorf("%q: what may be read may be changed", mode)
			}
		}
	}
}

// TestOpencodeRefuses: an error names what to put right.
func TestOpencodeRefuses(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*Spec){
		"runtimes.opencode.command": func(s *Spec) { s.Command = nil },
		"not absolute":              func(s *Spec) { s.Dir = "launch" },
		"no port":                   func(s *Spec) { s.Server = Server{} },
		"not one of OpenCode's":     func(s *Spec) { s.Resume = "-c" },
		"use one of ask":            func(s *Spec) { s.Mode = "bypass" },
		"NUL":                       func(s *Spec) { s.Model = "a\x00b" },
	} {
		s := opencodeSpec()
		change(&s)
		if _, err := launchOpencode(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	for version, ok := range map[string]bool{"1.18.33": true, "2.0.1": true, "0.15.2": false, "1.17.9": false, "dev": true, "": true} {
		if err := checkOpencodeVersion(version); (err == nil) != ok {
			t.Errorf("version %q: %v", version, err)
		}
	}
}
