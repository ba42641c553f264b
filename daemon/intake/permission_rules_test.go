package intake

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/hooks"
)

func bash(command string) ToolCall {
	in, _ := json.Marshal(map[string]any{"command": command, "description": "test"}) // texts cannot fail
	c, _ := callOf(&hooks.Payload{ToolName: "Bash", ToolInput: in})
	return c
}

// stays is a file system without links.
func stays(path string) string { return path }

// TestAllowRulesAreNotFooled: an allow rule with an asterisk covers one plain command, and nothing that a shell makes of it.
func TestAllowRulesAreNotFooled(t *testing.T) {
	const rule = "Bash(go test *)"
	for command, want := range map[string]bool{
		"go test ./...": true, "go test -run 'A b' ./daemon": true, "go test -race -count=1 ./...": true, "go test *.go": false,
		"go test": false, "go testing x": false, "sudo go test ./...": false, " go test x": false,
		"go test ./... ; rm -rf /": false, "go test ./... && rm -rf /": false, "go test ./... || rm x": false, "go test ./... | sh": false,
		"go test $(rm -rf /)": false, "go test `rm -rf /`": false, "go test x\nrm -rf /": false, "go test x\rrm -rf /": false,
		"go test x > /etc/passwd": false, "go test x < /etc/passwd": false, "go test x & rm y": false, "go test \\\n; rm": false,
		"go test ${IFS}x": false, "go test <(rm x)": false, "go test ';'": false, "": false,
		"go test -exec sh ./...": false, "go test --exec=sh ./...": false, `go test "-ex"'ec' sh ./...`: false, "go test -toolexec=x ./...": false,
		"go test -exe? sh": false, "go test ?exec": false, "go test 'x": false,
	} {
		c := bash(command)
		equal(t, command+" by "+rule, c.AllowedBy(rule, "/w", stays), want)
	}
	for _, row := range []struct {
		rule, command string
		want          bool
	}{
		{"git log *", "git log --oneline -5", true}, {"git log *", "git log --ext-diff", false}, {"git *", "git -c core.pager=x log", false},
		{"git * main", "git push main", true}, {"git * main", "git push origin main", false}, {"git push*", "git push origin", true},
		{"npm run test:*", "npm run test:unit a", true}, {"npm run test:*", "npm run test:unit --script-shell=x", false}, {"npm run test:*", "npm run build", false},
		{"find . *", "find . -name x", true}, {"find . *", "find . -name x -delete", false}, {"tar *", "tar -xzf a.tgz", true}, {"tar *", "tar -xIf sh a", false},
		{"make *", "make -j4 all", true}, {"make *", "make SHELL=x all", false}, {"/usr/bin/make *", "/usr/bin/make SHELL=x", false},
		{"git -c x=y *", "git -c x=y log", true}, {"echo 'a *", "echo a b", false}, {"find . -exec ls *", "find . -exec ls x", true},
		{"git fetch *", "git fetch --upload-p=./x .", false}, {"git grep *", "git grep --open=./x y", false}, {"tar *", "tar xIf ./x a", false}, {"tar *", "tar xzf a", true},
		{"tar *", "tar -xf a --to-com=./x", false}, {"sort *", "sort --compress-prog=./x f", false}, {"sed -n *", "sed -n 1e./x f", false}, {"go build *", "go build -ldflags=-extld=x", false},
		{`git commit -m "fix *"`, `git commit -m "fix the roof"`, true}, {"grep *", "grep --include=main.go -re x", true}, {"sh *", "sh x", false}, {"npx *", "npx --exec x", false},
	} {
		c := bash(row.command)
		equal(t, row.command+" by "+row.rule, c.AllowedBy("Bash("+row.rule+")", "/w", stays), row.want)
	}
	c := bash("go test x")
	c.Args["dangerouslyDisableSandbox"] = json.RawMessage("true")
	if c.AllowedBy(rule, "/w", stays) {
		t.Error("a call with an argument that the rule does not know is allowed")
	}
}

// TestOtherRules: rules about files, sites and whole tools, and deny rules, which look into a line of shell.
func TestOtherRules(t *testing.T) {
	call := func(tool, args string) ToolCall {
		c, ok := callOf(&hooks.Payload{ToolName: tool, ToolInput: json.RawMessage(args)})
		if !ok {
			t.Fatalf("%s %s", tool, args)
		}
		return c
	}
	edit := func(path string) ToolCall {
		return call("Edit", `{"file_path": "`+path+`", "old_string": "a", "new_string": "b"}`)
	}
	fetch := func(url string) ToolCall { return call("WebFetch", `{"url": "`+url+`", "prompt": "p"}`) }
	for _, row := range []struct {
		call ToolCall
		rule string
		want bool
	}{
		{edit("/w/src/a.go"), "Edit(src/**)", true}, {edit("/w/src/b/a.go"), "Edit(src/*)", false}, {edit("/w/src/a.go"), "Edit(./src/*)", true},
		{edit("/w/src/../../etc/passwd"), "Edit(src/**)", false}, {edit("/other/src/a.go"), "Edit(src/**)", false},
		{edit("/etc/passwd"), "Edit(/etc/*)", true}, {edit("/w/a.go"), "Edit(**/*.go)", true}, {edit("/w/a.go"), "Edit(*.go)", true},
		{call("Write", `{"file_path": "/w/a.go", "content": ""}`), "Edit(*.go)", true}, {call("Read", `{"file_path": "/w/a.go"}`), "Edit(*.go)", false},
		{call("Read", `{"file_path": "/w/a.go"}`), "Read(*.go)", true},
		{fetch("https://example.com/x"), "WebFetch(domain:example.com)", true}, {fetch("https://example.com.evil.org/"), "WebFetch(domain:example.com)", false},
		{fetch("https://user@example.com/"), "WebFetch(domain:example.com)", false}, {fetch("file://example.com/etc"), "WebFetch(domain:example.com)", false},
		{fetch("https://docs.example.com/"), "WebFetch(domain:*.example.com)", true},
		{call("mcp__db__read", `{}`), "mcp__db__*", true}, {call("mcp__db2__read", `{}`), "mcp__db__*", false}, {bash("x"), "Bash", true},
		{bash("ls"), "Bash(", false}, {bash("ls"), "Bash()", false}, {bash(`ls \*`), `Bash(ls \\\*)`, true},
	} {
		equal(t, fmt.Sprintf("%s %s by %s", row.call.Tool, row.call.Shown(), row.rule), row.call.AllowedBy(row.rule, "/w", stays), row.want)
	}
	for command, want := range map[string]bool{"git push": true, "cd x && git push -f": true, "echo $(git push x)": true, "git pull": false} {
		c := bash(command)
		equal(t, "deny of "+command, c.DeniedBy("Bash(git push*)", "/w", stays), want)
	}
}

// TestRulesAboutFilesFollowLinks: an allow rule covers a file that is where its name says, a deny rule also one that a link leads to.
func TestRulesAboutFilesFollowLinks(t *testing.T) {
	edit := func(path string) ToolCall {
		c, _ := callOf(&hooks.Payload{ToolName: "Edit", ToolInput: json.RawMessage(`{"file_path": "` + path + `", "old_string": "a", "new_string": "b"}`)})
		return c
	}
	links := map[string]string{"/w": "/mnt/w", "/w/src": "/mnt/w/src", "/w/src/out": "/etc", "/w/keys": "/home/.ssh", "/w/a.txt": "/home/.bashrc", "/link": "/mnt/link"}
	follow := func(path string) string {
		for name := path; name != "/"; name = filepath.Dir(name) {
			if to, ok := links[name]; ok {
				return to + strings.TrimPrefix(path, name)
			}
		}
		return path
	}
	nowhere := func(string) string { return "" }
	for _, row := range []struct {
		path, rule    string
		follow        Follow
		allow, denies bool
	}{
		{"/w/src/a.go", "Edit(src/**)", follow, true, true}, {"/w/src/out/passwd", "Edit(src/**)", follow, false, true},
		{"/w/src/out/passwd", "Edit(/etc/**)", follow, false, true}, {"/link/a", "Edit(/link/*)", follow, true, true},
		{"/w/keys/a", "Edit(keys/**)", follow, false, true}, {"/w/a.txt", "Edit(/w/a.txt)", follow, false, true}, {"/w/b.txt", "Edit(/w/b.txt)", follow, true, true},
		{"/w/src/out/passwd", "Edit(/etc/*)", follow, false, true}, {"/mnt/w/src/a", "Edit(src/**)", follow, false, true},
		{"/w/src/a.go", "Edit(src/a.go)", follow, true, true}, {"/w/src/a.go", "Edit(src/**)", nowhere, false, true}, {"/w/../etc/a", "Edit(/etc/*)", stays, false, true},
	} {
		c := edit(row.path)
		if allow, denies := c.AllowedBy(row.rule, "/w", row.follow), c.DeniedBy(row.rule, "/w", row.follow); allow != row.allow || denies != row.denies {
			t.Errorf("%s by %s: allowed %t, denied %t", row.path, row.rule, allow, denies)
		}
	}
}

// TestOwnRuleIsExact: the rule that allow_agent offers covers the shown call, and no longer one.
func TestOwnRuleIsExact(t *testing.T) {
	for command, more := range map[string]string{"ls *.go; rm x": "ls a.go; rm x", `echo \*`: "echo *", "touch a": "touch a b"} {
		c, other := bash(command), bash(more)
		if rule := c.Rule(); !c.AllowedBy(rule, "/w", stays) || other.AllowedBy(rule, "/w", stays) {
			t.Errorf("%s: covers %q %t, and %q %t", rule, command, c.AllowedBy(rule, "/w", stays), more, other.AllowedBy(rule, "/w", stays))
		}
	}
}

// TestShownIsWhole: people are shown every argument of a call, hidden characters by their numbers, and the digest is of that.
func TestShownIsWhole(t *testing.T) {
	show := func(tool, args string) (p daemon.Permission) {
		c, _ := callOf(&hooks.Payload{ToolName: tool, ToolInput: json.RawMessage(args)})
		c.Show(&p)
		return p
	}
	for _, row := range []struct{ tool, args, want string }{
		{"Bash", `{"command": "ls\nrm x", "timeout": 5, "description": "lists"}`, "ls\nrm x\ntimeout: 5"},
		{"Bash", `{"command": "ls \u202egnp.x"}`, `ls \u{202e}gnp.x`},
		{"Edit", `{"file_path": "/a", "old_string": "one\ntwo", "new_string": "three", "replace_all": true}`, "/a\n-one\n-two\n+three\nreplace_all: true"},
		{"Write", `{"file_path": "/a", "content": "x\ny\n"}`, "/a\n+x\n+y"},
		{"WebFetch", `{"url": "https://e.org", "prompt": "read"}`, "https://e.org\nread"},
		{"mcp__x__y", `{"b": [1, 2], "a": "t"}`, "a: \"t\"\nb: [1,2]"},
	} {
		if p := show(row.tool, row.args); p.Shown != row.want || !p.Whole || p.Digest != digestOf(row.tool, row.want) {
			t.Errorf("%s %s: shown %q, want %q", row.tool, row.args, p.Shown, row.want)
		}
	}
	if p := show("Bash", `{"command": "`+strings.Repeat("x", MaxShown+1)+`"}`); p.Whole || p.Rule != "" || len(p.Shown) > MaxShown {
		t.Errorf("a long command: whole %t, rule %q, %d bytes", p.Whole, p.Rule, len(p.Shown))
	}
}

// TestAnswersAreNotMasked: what the operator tells an agent reaches it as it was written.
func TestAnswersAreNotMasked(t *testing.T) {
	t.Parallel()
	said := "use password=hunter2xyz9"
	holds(t, "the agent is told", string(PermissionOutput(&daemon.Permission{Verdict: daemon.Deny, Sentence: said})), said)
	if got := string(event.Payload(said)); strings.Contains(got, said) {
		t.Errorf("the event log has %s", got)
	}
}
