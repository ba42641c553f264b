package hooks

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
)

var some = InstallOptions{Bin: "/usr/local/bin/understudy", DataDir: "/home/o'dev/data", Events: []string{SessionStart, Stop, SessionEnd}}

// documents are settings, from common ones to strange ones.
var documents = map[string]string{
	"empty file":      "",
	"blank file":      "\n  \r\n",
	"empty object":    "{}",
	"with line feed":  "{}\n",
	"open object":     "{\n}\n",
	"space in object": "  { } ",
	"two spaces":      "{\n  \"model\": \"opus\",\n  \"env\": {\"A\": \"b\"}\n}\n",
	"four spaces":     "{\n    \"model\": \"opus\"\n}",
	"tabs":            "{\n\t\"model\": \"opus\"\n}\n",
	"CRLF":            "{\r\n  \"model\": \"opus\"\r\n}\r\n",
	"one line":        `{"model":"opus","permissions":{"allow":["Edit"]}}`,
	"no indent":       "{\n\"model\": \"opus\"\n}\n",
	"uneven":          "{ \"a\" :1 ,\n\n   \"b\":[ ]  }\n\n\n",
	"empty hooks":     "{\n  \"hooks\": {}\n}\n",
	"open hooks":      "{\n  \"hooks\": {\n  }\n}\n",
	"empty list":      "{\n  \"hooks\": {\n    \"Stop\": []\n  }\n}\n",
	"open list":       "{\n  \"hooks\": {\n    \"Stop\": [\n    ]\n  }\n}\n",
	"one-line list":   `{"hooks":{"Stop":[],"SessionEnd":[ ]}}`,
	"foreign hooks": `{
  "hooks": {
    "Stop": [
      {
        "matcher": "",
        "hooks": [ { "type": "command", "command": "notify-send \"done\\n\" {[}]" } ]
      }
    ],
    "PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "understudy hook --other Stop"}]}]
  },
  "model": "opus"
}
`,
	"foreign last":   `{"hooks":{"Notification":[{"hooks":[]}],"Stop":[{}, 5, null, {"hooks":[7,"x"]}]}}`,
	"double keys":    `{"hooks":{"Stop":[]},"hooks":{"Stop":[1],"Stop":[2]}}`,
	"escaped keys":   `{"h\u006foks":{"St\u006fp":[]}}`,
	"odd values":     `{"":"\\","x":-1.5e+3,"y":[true,null,"\"]}"],"ü":"\ud83d"}`,
	"bad UTF-8":      "{\"a\":\"\xff\"}",
	"deep":           `{"a":` + strings.Repeat("[", 500) + strings.Repeat("]", 500) + `}`,
	"other versions": `{"hooks":{"FutureEvent":[{"hooks":[{"type":"future","x":{}}]}]}}`,
}

// TestInstallThenUninstall: an install is reported and undone, also one over another place; and an uninstall of nothing changes nothing.
func TestInstallThenUninstall(t *testing.T) {
	t.Parallel()
	moved := some
	moved.Bin, moved.Events = "/opt/new place/understudy", []string{Stop, Notification}
	check := func(name string, before []byte) {
		in := value(PlanInstall(before, some))(t)
		roundTrip(t, in)
		again, err := PlanInstall(in.After, moved)
		if err != nil || !again.Changed || len(again.Removed) != 3 || len(again.Added) != 2 {
			t.Fatalf("%s: %v, %+v", name, err, again)
		}
		for o, settings := range map[*InstallOptions][]byte{&some: in.After, &moved: again.After} {
			if r, err := Status(settings); err != nil || r.Bin != o.Bin || r.DataDir != o.DataDir || r.Mixed || len(r.Events) != len(o.Events) {
				t.Errorf("%s: Status = %+v, %v", name, r, err)
			}
		}
		equal(t, name+": uninstalled", string(value(PlanUninstall(again.After))(t).After), string(before))
		if p, err := PlanUninstall(before); err != nil || p.Changed || !bytes.Equal(p.After, before) {
			t.Errorf("%s: uninstall of nothing: %v, %+v", name, err, p)
		}
	}
	check("no file", nil)
	for name, text := range documents {
		check(name, []byte(text))
	}
}

// roundTrip checks an install and its uninstall.
func roundTrip(t *testing.T, in Plan) {
	t.Helper()
	if !in.Changed || !json.Valid(in.After) || !slices.Equal(in.Added, some.Events) || len(in.Removed) != 0 {
		t.Errorf("install into %q: %+v", in.Before, in)
	}
	foreign, _ := removeOurs(in.After)
	if want, _ := removeOurs(in.Before); !blank(in.Before) && foreign != want {
		t.Errorf("install into %q changed others:\n%s", in.Before, in.After)
	}
	again, err := PlanInstall(in.After, some)
	if err != nil || again.Changed || !bytes.Equal(again.After, in.After) {
		t.Errorf("second install into %q: %v, %q", in.Before, err, again.After)
	}
	out, err := PlanUninstall(in.After)
	if err != nil || !out.Changed || !slices.Equal(sorted(out.Removed), sorted(some.Events)) {
		t.Errorf("uninstall from %q: %v, %+v", in.After, err, out.Removed)
	}
	if !bytes.Equal(out.After, in.Before) || (out.After == nil) != (in.Before == nil) {
		t.Errorf("was      %q (%v)\nis again %q (%v)\nafter    %q", in.Before, in.Before == nil, out.After, out.After == nil, in.After)
	}
}

func sorted(list []string) []string { return slices.Sorted(slices.Values(list)) }

// removeOurs decodes settings and drops our hooks, and what is empty without
// them, without the code under test.
func removeOurs(text []byte) (string, error) {
	var root map[string]any
	if err := json.Unmarshal(text, &root); err != nil {
		return "", err
	}
	hooks, _ := root["hooks"].(map[string]any)
	for event, list := range hooks {
		var rest []any
		groups, isList := list.([]any)
		if !isList {
			continue
		}
		for _, g := range groups {
			if b, _ := json.Marshal(g); !bytes.Contains(b, []byte(marker)) {
				rest = append(rest, g)
			}
		}
		if hooks[event] = rest; rest == nil {
			delete(hooks, event)
		}
	}
	if len(hooks) == 0 && root != nil {
		if _, isObject := root["hooks"].(map[string]any); isObject {
			delete(root, "hooks")
		}
	}
	b, err := json.Marshal(root)
	return string(b), err
}

// TestInstallLooks compares the file that a person sees after an install.
func TestInstallLooks(t *testing.T) {
	t.Parallel()
	var all bytes.Buffer
	for _, name := range []string{"empty object", "foreign hooks", "tabs", "one line", "open list"} {
		p := value(PlanInstall([]byte(documents[name]), InstallOptions{Bin: "/usr/bin/understudy", Events: []string{Stop, SessionEnd}}))(t)
		all.WriteString("--- " + name + "\n" + string(p.After) + "\n")
	}
	golden(t, "testdata/install.golden", all.Bytes())
}

func mustInstall(t *testing.T, settings []byte, o InstallOptions) []byte {
	t.Helper()
	p := value(PlanInstall(settings, o))(t)
	return p.After
}

// TestUninstallAfterOthers: uninstall keeps the changes that others made to the file.
func TestUninstallAfterOthers(t *testing.T) {
	t.Parallel()
	stop := InstallOptions{Bin: "/u", Events: []string{Stop}}
	own := string(mustInstall(t, []byte("{}"), stop))
	group := own[strings.Index(own, "[\n")+1 : strings.LastIndex(own, "]")]
	group = strings.TrimSpace(group)
	entry := group[strings.Index(group, "[")+1 : strings.LastIndex(group, "]")]
	entry = strings.TrimSpace(entry)
	var compact bytes.Buffer
	must(t, json.Compact(&compact, []byte(own)))
	for name, c := range map[string]struct{ in, want string }{
		"a group before":     {`{"hooks":{"Stop":[1,` + group + `]}}`, `{"hooks":{"Stop":[1]}}`},
		"a group after":      {`{"hooks":{"Stop":[` + group + `, 1]}}`, `{"hooks":{"Stop":[1]}}`},
		"a hook in ours":     {`{"hooks":{"Stop":[{"hooks":[` + entry + `,{"type":"x"}]}]}}`, `{"hooks":{"Stop":[{"hooks":[{"type":"x"}]}]}}`},
		"ours twice":         {`{"hooks":{"Stop":[` + group + `,` + group + `]}}`, `{}`},
		"an event":           {`{"hooks":{"Stop":[` + group + `],"PreToolUse":[]}}`, `{"hooks":{"PreToolUse":[]}}`},
		"a key":              {`{"hooks":{"Stop":[` + group + `]},"model":"opus"}`, `{"model":"opus"}`},
		"laid out anew":      {compact.String(), `{}`},
		"timeout by hand":    {strings.ReplaceAll(own, "20", `"9 s"`), `{}`},
		"a wrapper":          {strings.ReplaceAll(own, "/u hook", "nice /u hook"), `{}`},
		"unreadable command": {strings.ReplaceAll(own, "/u hook", "'/u hook"), `{"hooks": {"Stop": []}}`},
	} {
		p, err := PlanUninstall([]byte(c.in))
		if err != nil || !p.Changed {
			t.Errorf("%s: %v, %+v", name, err, p)
			continue
		}
		var got, want bytes.Buffer
		if json.Compact(&got, p.After) != nil || json.Compact(&want, []byte(c.want)) != nil || got.String() != want.String() {
			t.Errorf("%s: %s is left, want %s", name, p.After, c.want)
		}
	}
	// The next install corrects a timeout that was changed by hand.
	equal(t, "install over another timeout", string(mustInstall(t, []byte(strings.ReplaceAll(own, "20", "9")), stop)), own)
}

func TestSettingsRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"comment":       {"{\n  // mine\n  \"a\": 1\n}", "line 2 is not JSON"},
		"comma":         {"{\n  \"a\": 1,\n}", "line 3 is not JSON"},
		"cut off":       {"{\n\"a\": 1\n", "line 2 is not JSON"},
		"two":           {"{}\n{}", "line 2 is not JSON"},
		"list":          {"[]", "no object"},
		"hooks a list":  {`{"hooks":[]}`, `"hooks" is not an object`},
		"hooks null":    {`{"hooks":null}`, `"hooks" is not an object`},
		"Stop no list":  {`{"hooks":{"Stop":{}}}`, `"hooks"."Stop" is not a list`},
		"Stop a string": {`{"hooks":{"Stop":"x"}}`, `"hooks"."Stop" is not a list`},
	} {
		p, err := PlanInstall([]byte(c.text), some)
		if err == nil || !strings.Contains(err.Error(), c.want) || p.Changed || string(p.After) != c.text {
			t.Errorf("%s: %v, %+v; want %q", name, err, p, c.want)
		}
	}
	for name, o := range map[string]InstallOptions{
		"no events":     {Bin: "/u"},
		"relative":      {Bin: "u", Events: []string{Stop}},
		"relative data": {Bin: "/u", DataDir: "d", Events: []string{Stop}},
		"twice":         {Bin: "/u", Events: []string{Stop, Stop}},
		"spelling":      {Bin: "/u", Events: []string{"stop"}},
	} {
		failed(PlanInstall(nil, o))(t, name+": accepted")
	}
}

// TestInstalledCommandIsUnderstood: Command accepts the command line that install writes.
func TestInstalledCommandIsUnderstood(t *testing.T) {
	t.Parallel()
	for made := range levels {
		words, err := shellWords(some.command(Stop, made))
		if err != nil || words[0] != some.Bin || words[1] != "hook" {
			t.Fatalf("%q, %v", words, err)
		}
		o, err := parseArgs(words[2:])
		if err != nil || !o.installed || o.data != some.DataDir || o.event != Stop || o.made != levels[made] {
			t.Errorf("%q is taken as %+v, %v", words, o, err)
		}
	}
}

func FuzzInstallRoundTrip(f *testing.F) {
	for _, text := range documents {
		f.Add([]byte(text))
	}
	captured := value(os.ReadFile("testdata/payloads.json"))(f)
	f.Add(captured)
	f.Add(slices.Concat([]byte(`{"hooks":`), captured, []byte("}")))
	f.Fuzz(func(t *testing.T, before []byte) {
		if before == nil {
			before = []byte{} // the fuzzer does not distinguish nil and empty
		}
		if bytes.Contains(before, []byte("--installed")) {
			return // our own hooks in it: install replaces them
		}
		in, err := PlanInstall(before, some)
		if err != nil {
			if json.Valid(before) && !bytes.Contains(before, []byte("hooks")) && !bytes.Contains(before, []byte(`\u`)) && before[skipSpace(before, 0)] == '{' {
				t.Errorf("refused %q: %v", before, err)
			}
			return
		}
		roundTrip(t, in)
	})
}
