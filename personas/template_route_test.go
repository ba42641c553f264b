package personas

import (
	"reflect"
	"strings"
	"testing"
)

func TestParseRules(t *testing.T) {
	t.Parallel()
	const head = "name: x\nsteps:\n- agent: developer\n- agent: qa\n- agent: qa\n"
	rule := func(heading, contains string, to int) Rule { return Rule{Condition{heading, contains}, to} }
	for in, want := range map[string]TemplateStep{
		"  next: {when: \"Verdict: not ready\", goto: developer}\n":                              {Next: []Rule{rule("Verdict", "not ready", 1)}, MaxRounds: 3},
		"  next:\n    when: {heading: '## Open Questions', contains: a}\n    goto: 3\n":          {Next: []Rule{rule("Open Questions", "a", 3)}, MaxRounds: 3},
		"  max_rounds: 20\n  next:\n  - {when: 'A: b: c', goto: 2}\n  - {when: 'B: d', goto: 1}": {Next: []Rule{rule("A", "b: c", 2), rule("B", "d", 1)}, MaxRounds: 20},
		"  next: {when: 'A: b', goto: 1, else: stop}\n":                                          {Next: []Rule{rule("A", "b", 1)}, Otherwise: Stop, MaxRounds: 3},
		"  next:\n  - {when: 'A: b', goto: 1}\n  - else: stop\n":                                 {Next: []Rule{rule("A", "b", 1)}, Otherwise: Stop, MaxRounds: 3},
		"  else: stop\n  next: {when: 'A: b', goto: 1}\n":                                        {Next: []Rule{rule("A", "b", 1)}, Otherwise: Stop, MaxRounds: 3},
		"  next:\n":    {},
		"  next: []\n": {},
	} {
		got, err := templateFile("t.yaml").parse([]byte(head + in))
		if want.Agent = "qa"; err != nil || !reflect.DeepEqual(got.Steps[2], want) {
			t.Errorf("%s\ngot  %+v, %v\nwant %+v", in, got.Steps, err, want)
		}
	}
	got, err := templateFile("t.yaml").parse([]byte("name: x\nsteps:\n- agent: a\n  next: {when: 'A: b', goto: later}\n- agent: later\n"))
	if err != nil || got.Steps[0].Next[0].Goto != 2 || got.CheckRoutes() != nil {
		t.Errorf("got %+v, %v: want a rule that leads to step 2", got.Steps, err)
	}
	if got.Steps[0].Next[0].Goto = 3; got.CheckRoutes() == nil {
		t.Error("a rule that leads to a step that does not exist is not found")
	}
}

func TestParseRulesRefuses(t *testing.T) {
	t.Parallel()
	const head = "name: x\nsteps:\n- agent: developer\n- agent: qa\n- agent: qa\n"
	for in, want := range map[string]string{
		"next: {when: 'A: b', goto: nobody}":           `6: step 3: next: goto no step has the agent "nobody"`,
		"next: {when: 'A: b', goto: qa}":               `6: step 3: next: goto the steps 2 and 3 have the agent "qa"`,
		"next: {when: 'A: b', goto: 4}":                "6: step 3: next: goto there is no step 4",
		"next: {when: 'A: b', goto: 0}":                "6: step 3: next: goto there is no step 0",
		"next: {when: 'A: b', goto: [1]}":              "6: step 3: next: goto must be a step",
		"next: {when: 'A: b', goto: }":                 "6: step 3: next has a rule without goto",
		"next: {when: 'A: b'}":                         "6: step 3: next has a rule without goto",
		"next: {when: 'A: b', goto: 1, else: go on}":   "6: step 3: next: else must be stop",
		"next: [{else: stop}]":                         "5: step 3 is of use with next alone",
		"else: stop":                                   "6: step 3: else is of use with next alone",
		"next: {goto: 1}":                              "6: step 3: next has a rule without when",
		"next: {}":                                     "6: step 3: next has a rule without when",
		"next: {when: not ready, goto: 1}":             "6: step 3: next: when must name the heading",
		"next: {when: 'Verdict:', goto: 1}":            "6: step 3: next: when has no contains",
		"next: {when: ': x', goto: 1}":                 "6: step 3: next: when has no heading",
		"next: {when: '...: x', goto: 1}":              "6: step 3: next: when has no heading",
		"next: {when: {contains: x}, goto: 1}":         "6: step 3: next: when has no heading",
		"next: {when: {heading: x}, goto: 1}":          "6: step 3: next: when has no contains",
		"next: {when: {heading: x, says: y}, goto: 1}": `6: step 3: next: when has an unknown key "says"`,
		"next: {when: {heading: x, contains: " + strings.Repeat("y", 201) + "}, goto: 1}": "6: step 3: next: when contains must be one line",
		"next: {if: 'A: b', goto: 1}": `6: step 3: next has an unknown key "if"`,
		"next: developer":             "6: step 3: next must be a list of rules",
		"next: [1]":                   "6: step 3: next must be lines of key: value",
		"next: [" + strings.Repeat("{when: 'A: b', goto: 1}, ", 21) + "]": "6: step 3: next has 21 rules and the limit is 20",
		"next: {when: 'A: b', goto: 1}\n  max_rounds: 0":                  "7: step 3: max_rounds must be a number from 1 to 20",
		"next: {when: 'A: b', goto: 1}\n  max_rounds: 21":                 "7: step 3: max_rounds must be a number from 1 to 20",
		"next: {when: 'A: b', goto: 1}\n  max_rounds: many":               "7: step 3: max_rounds must be a number from 1 to 20",
		"max_rounds: 2": "6: step 3: max_rounds is of use with next alone",
	} {
		_, err := templateFile("t.yaml").parse([]byte(head + "  " + in + "\n"))
		wantProblem(t, in, err, "t.yaml:"+want)
	}
}
