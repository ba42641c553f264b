package personas

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"
)

const plainTemplate = "name: x\nsteps:\n  - agent: developer\n"

func TestParseTemplate(t *testing.T) {
	t.Parallel()
	one := []TemplateStep{{Agent: "developer"}}
	for _, test := range []struct {
		name, in string
		want     Template
	}{
		{"plain", plainTemplate, Template{Name: "x", Steps: one}},
		{"all keys", `# comment
name: full_feature-2
description: Everything.
steps:
  - agent: product-owner
    description: " What, "
    prompt: |
      First:
        second

    approval: true
    remind_after: 30m
    timeout: 1h30m
  - {agent: developer-con-1, approval: false, timeout: 0.5}
`, Template{Name: "full_feature-2", Description: "Everything.", Steps: []TemplateStep{
			{Agent: "product-owner", Description: "What,", Prompt: "First:\n  second", Approval: true, RemindAfter: 30 * time.Minute, Timeout: 90 * time.Minute},
			{Agent: "developer-con-1", Timeout: 500 * time.Millisecond},
		}}},
		{"flow", "{name: x, steps: [{agent: developer}]}", Template{Name: "x", Steps: one}},
		{"texts left empty", "name: x\ndescription:\nsteps:\n- agent: developer\n  prompt:\n  description: ''\n", Template{Name: "x", Steps: one}},
		{"CRLF and a byte order mark", "\ufeff" + strings.ReplaceAll(plainTemplate, "\n", "\r\n"), Template{Name: "x", Steps: one}},
		{"marks of the document", "---\n" + plainTemplate + "...\n", Template{Name: "x", Steps: one}},
		{"other order", "steps:\n- remind_after: 1\n  approval: true\n  agent: developer\nname: '1'\n", Template{Name: "1", Steps: []TemplateStep{{Agent: "developer", Approval: true, RemindAfter: time.Second}}}},
		{"most steps", "name: x\nsteps:\n" + strings.Repeat("- agent: developer\n", 50), Template{Name: "x", Steps: slicesRepeat(one[0], 50)}},
		{"longest names", "name: " + strings.Repeat("x", 64) + "\nsteps:\n- agent: " + strings.Repeat("y", 64), Template{Name: strings.Repeat("x", 64), Steps: []TemplateStep{{Agent: strings.Repeat("y", 64)}}}},
	} {
		equal(t, test.name, value(templateFile("t.yaml").parse([]byte(test.in)))(t).Template, test.want)
	}
}

func slicesRepeat(s TemplateStep, n int) (all []TemplateStep) {
	for range n {
		all = append(all, s)
	}
	return all
}

func TestParseTemplateTimes(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]time.Duration{
		"90s": 90 * time.Second, "1h30m": 90 * time.Minute, "90": 90 * time.Second, "0.5": time.Second / 2, "1e3": 1000 * time.Second,
		"720h": 720 * time.Hour, "2592000": 720 * time.Hour, "1ns": 1, "' 5m '": 5 * time.Minute, "0.0000015": 1500,
		"0": -1, "0s": -1, "-1": -1, "-5s": -1, "720h0m1s": -1, "2592001": -1, "1e300": -1, ".inf": -1, "-.inf": -1, ".nan": -1, "1e-10": -1,
		"": 0, "~": 0, "5": 5 * time.Second, "'5'": 0, "1d": 0, "1:30": 0, "30 minutes": 0, "true": 0, "[1]": 0, "{a: 1}": 0, "!!float x": 0, "2026-01-02": 0,
	} {
		got, err := templateFile("t.yaml").parse([]byte(plainTemplate + "    timeout: " + in + "\n"))
		switch {
		case want > 0:
			must(t, err)
			equal(t, in, got.Steps[0].Timeout, want)
		case want == 0:
			wantProblem(t, in, err, "t.yaml:4: step 1: timeout must be a time such as")
		default:
			wantProblem(t, in, err, "t.yaml:4: step 1: timeout must be more than 0")
		}
	}
}

func wantProblem(t *testing.T, in string, err error, want string) {
	t.Helper()
	if err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("%q gives the problem\n%v\nwant\n%s", in, err, want)
	}
}

func TestParseTemplateRefuses(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 65)
	for in, want := range map[string]string{
		"":                            "1: the file is empty",
		"# only a comment\n":          "1: the file is empty",
		"---\n":                       "1: the file is empty",
		"x":                           "1: the template must be lines of key: value",
		"\n\n- a\n":                   "3: the template must be lines of key: value",
		plainTemplate + "---\na: b\n": "4: a second document begins",
		plainTemplate + "---\na: {\n": "5: not YAML",

		"# x\nsteps:\n  - agent: a\n":                            "2: the template has no name",
		"steps:\n  - agent: a\nname:\n":                          "3: the template has no name",
		"name: X\nsteps: [{agent: a}]":                           `1: name "X" must be one word`,
		"name: ../a\nsteps: [{agent: a}]":                        `1: name "../a" must be one word`,
		"\nname: " + long + "\nsteps: [{agent: a}]":              `2: name "` + long[:40] + `…" must be one word`,
		"name: 12\nsteps: [{agent: a}]":                          "1: name must be text: put it in quotes",
		"name: x\ndescription: \"a\\eb\"\n":                      "2: description has a control character",
		"name: x\n":                                              "1: the template has no steps",
		"name: x\nsteps:\n":                                      "2: the template has no steps",
		"name: x\nsteps: []\n":                                   "2: the template has no steps",
		"name: x\nsteps: a\n":                                    "2: steps must be a list",
		"name: x\nsteps:\n  agent: a\n":                          "3: steps must be a list",
		"name: x\nsteps:\n" + strings.Repeat("- agent: a\n", 51): "53: the template has 51 steps and the limit is 50",
		"name: x\nstep:\n":                                       `2: the template has an unknown key "step": correct or remove it; the keys are name, description, steps`,
		"name: x\n<<: {name: y}\n":                               `2: the template has an unknown key "<<"`,
		"name: x\n[a]: y\n":                                      "2: the template has an unknown key",
		"name: x\n? |\n  a\n  b\n: y\n":                          `2: the template has an unknown key "a\nb\n"`,
		"name: x\nname: y\n":                                     "2: the template has the key name twice",
		"name: x\n" + long + ": y\n":                             `2: the template has an unknown key "` + long[:40] + `…"`,

		"name: x\nsteps:\n  - a\n":                                   "3: step 1 must be lines of key: value; the keys are agent, description, prompt, approval, remind_after, timeout, runtime, model, next, else, max_rounds",
		"name: x\nsteps:\n  - agent: a\n  -\n":                       "4: step 2 has no agent",
		"name: x\nsteps:\n  - agent: a\n  - prompt: b\n":             "4: step 2 has no agent",
		"name: x\nsteps:\n  - prompt: b\n    agent:\n":               "4: step 1 has no agent",
		"name: x\nsteps:\n  - agent: a\n    agnet: b\n":              `4: step 1 has an unknown key "agnet"`,
		"name: x\nsteps:\n  - agent: a\n    agent: b\n":              "4: step 1 has the key agent twice",
		"name: x\nsteps:\n  - agent: 1\n":                            "3: step 1: agent must be text",
		"name: x\nsteps:\n  - agent: Developer\n":                    `3: step 1: agent "Developer" must be a role`,
		"name: x\nsteps:\n  - agent: ../a\n":                         `3: step 1: agent "../a" must be a role`,
		"name: x\nsteps:\n  - agent: " + long + "\n":                 "3: step 1: agent",
		"name: x\nsteps:\n  - agent: a\n    prompt: [b]\n":           "4: step 1: prompt must be text",
		"name: x\nsteps:\n  - agent: a\n    prompt: \"\\0\"\n":       "4: step 1: prompt has a control character",
		"name: x\nsteps:\n  - agent: a\n    prompt: \"b\\r\"\n":      "4: step 1: prompt has a control character",
		"name: x\nsteps:\n  - agent: a\n    runtime: a b\n":          "4: step 1: runtime must be one word that does not begin with a hyphen",
		"name: x\nsteps:\n  - agent: a\n    model: --yolo\n":         "4: step 1: model must be one word that does not begin with a hyphen",
		"name: x\nsteps:\n  - agent: a\n    approval: yes\n":         "4: step 1: approval must be true or false",
		"name: x\nsteps:\n  - agent: a\n    approval:\n":             "4: step 1: approval must be true or false",
		"name: x\nsteps:\n  - remind_after: 5\n    agent: a\n":       "3: step 1: remind_after is of use with an approval alone",
		plainTemplate + "    approval: false\n    remind_after: 1\n": "5: step 1: remind_after is of use with an approval alone",

		// The line is that of the fault, where the YAML parser often names an earlier one.
		"name: x\nsteps:\n  - agent: a\n    prompt: use: it\n": "4: not YAML (mapping values are not allowed in this context): check",
		"name: x\nsteps:\n  - agent: a\n   prompt: b\n":        "4: not YAML (did not find expected '-' indicator)",
		"name: x\nsteps:\n  - agent: *b\n":                     "3: not YAML (unknown anchor",
		"name: x\n# caf\xe9\n":                                 "2: the text is not UTF-8, but perhaps Latin-1: convert",
		"\n\nname: x\n# \x1b[2J\n":                             "4: a control character",
		"name: x\n# \u009b2J\n":                                "2: a control character",
	} {
		got, err := templateFile("t.yaml").parse([]byte(in))
		wantProblem(t, in, err, "t.yaml:"+want)
		equal(t, in+" gives an error and", got, parsedTemplate{})
	}
}

// A file that is broken near its beginning and as large as may be takes no time to speak of.
func TestSyntaxLineGivesUp(t *testing.T) {
	t.Parallel()
	in := "name: [\n" + strings.Repeat("a: b\n", maxFile/5)
	_, err := templateFile("t.yaml").parse([]byte(in))
	wantProblem(t, "a large file", err, "t.yaml: not YAML")
}

func FuzzParseTemplate(f *testing.F) {
	f.Add([]byte(plainTemplate))
	f.Add([]byte("name: x\nsteps:\n- {agent: a-b-1, prompt: \"c\\n\", approval: true, remind_after: 1.5, timeout: 1h}\n"))
	f.Add([]byte("&a name: *a\n<<: {}\n---\n? [b]\n: !!float .nan\n"))
	begin := regexp.MustCompile(`^t\.yaml(:[1-9][0-9]*)?: [^ ]`)
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := templateFile("t.yaml").parse(b)
		if err != nil {
			if !begin.MatchString(err.Error()) || strings.Contains(err.Error(), "%!") || strings.Contains(err.Error(), "\n") {
				t.Fatalf("problem %q", err)
			}
			return
		}
		if n := 1 + strings.Count(string(b), "\n") + strings.Count(string(b), "\r"); got.line < 1 || got.line > n+strings.Count(string(b), "\u2028")+strings.Count(string(b), "\u2029") {
			t.Fatalf("name in line %d of %d", got.line, n)
		}
		if !regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,63}$`).MatchString(got.Name) || len(got.Steps) == 0 || len(got.Steps) > 50 {
			t.Fatalf("accepted %+v", got)
		}
		for _, s := range got.Steps {
			if err := validStep(s); err != nil {
				t.Fatalf("accepted %+v: %v", s, err)
			}
		}
	})
}

func validStep(s TemplateStep) error {
	const most = 30 * 24 * time.Hour
	switch {
	case !regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`).MatchString(s.Agent) || len(s.Agent) > 64:
		return fmt.Errorf("agent %q", s.Agent)
	case strings.ContainsAny(s.Prompt+s.Description, "\x00\x1b\x7f\r\u009b"):
		return fmt.Errorf("text %q", s.Prompt+s.Description)
	case s.RemindAfter < 0 || s.RemindAfter > most || s.Timeout < 0 || s.Timeout > most:
		return fmt.Errorf("times %v and %v", s.RemindAfter, s.Timeout)
	case s.RemindAfter > 0 && !s.Approval:
		return fmt.Errorf("a reminder without approval")
	}
	return nil
}
