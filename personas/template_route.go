package personas

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"

	"github.com/understudyd/understudy/data/yamlfile"
)

const (
	maxRules      = 20
	maxCondition  = 200 // characters of a heading, and of the words under it
	maxRounds     = 20
	defaultRounds = 3
)

// Rule sends a pipeline to a step, if the output of the step that has the rule says so.
type Rule struct {
	When Condition `json:"when"`
	Goto int       `json:"goto"` // the number of a step of the template, from 1
}

// Condition holds for an output that has words under a heading.
type Condition struct {
	Heading  string `json:"heading"`
	Contains string `json:"contains"` // compared word by word; see data.Weigh
}

// String returns the short form of a condition, as a template may have it.
func (c Condition) String() string { return c.Heading + ": " + c.Contains }

// target is the goto of a rule that has been read but not looked up, because it may name a later step.
type target struct {
	step, rule int // indices
	value      yamlfile.Value
}

// Stop is what a template says after else: a person decides which step comes next.
const Stop = "stop"

// otherwise reads what happens if no rule applies.
func otherwise(v yamlfile.Value) (string, error) {
	if text, err := v.Text(); err != nil || text != Stop {
		return "", v.Errorf("must be stop: then a person decides if no rule applies")
	}
	return Stop, nil
}

// parseNext reads the rules of a step: one, or a list of them, in which else: may stand alone. The goto of each is looked up by
// resolve.
func parseNext(v yamlfile.Value) (rules []Rule, targets []target, other string, err error) {
	items := []yamlfile.Value{v}
	if v.Kind != yaml.MappingNode {
		if items, err = v.Items(" of rules, each with when: and goto:, or one rule"); err != nil {
			return nil, nil, "", err
		}
	}
	for i, item := range items {
		if i == maxRules {
			return nil, nil, "", item.Errorf("has %d rules and the limit is %d", len(items), maxRules)
		}
		rule, to, stop, err := parseRule(item)
		if err != nil {
			return nil, nil, "", err
		}
		if other = cmp.Or(stop, other); to.Node != nil {
			targets = append(targets, target{rule: len(rules), value: to})
			rules = append(rules, rule)
		}
	}
	return rules, targets, other, nil
}

// parseRule reads a rule. to has no node if there is an else: alone.
func parseRule(v yamlfile.Value) (rule Rule, to yamlfile.Value, other string, err error) {
	of, when := v.Of, v
	err = v.Each([]string{"when", "goto", "else"}, func(key, value yamlfile.Value) (err error) {
		value.Of = of + ": " + key.Value
		switch key.Value {
		case "when":
			when = value
			rule.When, err = parseCondition(value)
		case "goto":
			to = value
		case "else":
			other, err = otherwise(value)
		}
		return err
	})
	switch {
	case err != nil:
	case other != "" && when.Node == v.Node && to.Node == nil:
	case when.Node == v.Node:
		err = v.Errorf("has a rule without when: add when: and the words that decide, such as \"Verdict: not ready\"")
	case to.Node == nil || to.Empty():
		err = v.Errorf("has a rule without goto: add goto: and a step, by its agent or its number")
	}
	return rule, to, other, err
}

// parseCondition reads a condition: its two keys, or "heading: words" as one text.
func parseCondition(v yamlfile.Value) (c Condition, err error) {
	if v.Kind == yaml.ScalarNode {
		text, err := v.Text()
		if err != nil {
			return c, err
		}
		heading, contains, ok := strings.Cut(text, ":")
		if !ok {
			return c, v.Errorf("must name the heading under which the words stand: \"Verdict: not ready\"")
		}
		c = Condition{strings.TrimSpace(heading), strings.TrimSpace(contains)}
	} else {
		of := v.Of
		err = v.Each([]string{"heading", "contains"}, func(key, value yamlfile.Value) (err error) {
			value.Of = of + ": " + key.Value
			switch key.Value {
			case "heading":
				c.Heading, err = value.Text()
			case "contains":
				c.Contains, err = value.Text()
			}
			return err
		})
	}
	c.Heading = strings.TrimSpace(strings.TrimLeft(c.Heading, "#"))
	for _, part := range []struct{ name, text string }{{"heading", c.Heading}, {"contains", c.Contains}} {
		switch {
		case err != nil:
		case !strings.ContainsFunc(part.text, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }):
			err = v.Errorf("has no %s: both are needed, as in {heading: Verdict, contains: not ready}", part.name)
		case len([]rune(part.text)) > maxCondition || strings.ContainsAny(part.text, "\n\r"):
			err = v.Errorf("%s must be one line of at most %d characters", part.name, maxCondition)
		}
	}
	return c, err
}

// resolve looks up the step to which a goto leads: a number, or an agent that one step alone has.
func resolve(steps []TemplateStep, v yamlfile.Value) (int, error) {
	if v.Kind == yaml.ScalarNode && v.ShortTag() == "!!int" {
		n, err := strconv.Atoi(v.Value)
		if err != nil || n < 1 || n > len(steps) {
			return 0, v.Errorf("there is no step %.20s: the steps are numbered from 1 to %d", v.Value, len(steps))
		}
		return n, nil
	}
	name, err := v.Text()
	if err != nil {
		return 0, v.Errorf("must be a step, by its agent or its number")
	}
	var found []string
	for i := range steps {
		if steps[i].Agent == name {
			found = append(found, strconv.Itoa(i+1))
		}
	}
	switch len(found) {
	case 0:
		return 0, v.Errorf("no step has the agent %s: name one that has, or a step's number", yamlfile.Quote(name))
	case 1:
		return strconv.Atoi(found[0])
	}
	return 0, v.Errorf("the steps %s have the agent %s: name the number of one", strings.Join(found, " and "), yamlfile.Quote(name))
}

// rounds reads how many rounds a step may have.
func rounds(v yamlfile.Value) (n int, err error) {
	if v.Kind != yaml.ScalarNode || v.ShortTag() != "!!int" || v.Decode(&n) != nil || n < 1 || n > maxRounds {
		return 0, v.Errorf("must be a number from 1 to %d", maxRounds)
	}
	return n, nil
}

// CheckRoutes returns an error if a rule of the template leads to a step that it does not have, or has no condition. The file of
// a template was checked when it was read.
func (t *Template) CheckRoutes() error {
	for i := range t.Steps {
		s := &t.Steps[i]
		for _, rule := range s.Next {
			switch {
			case rule.Goto < 1 || rule.Goto > len(t.Steps):
				return fmt.Errorf("step %d leads to step %d, which does not exist", i+1, rule.Goto)
			case rule.When.Heading == "" || rule.When.Contains == "":
				return fmt.Errorf("step %d has a rule without a heading or the words under it", i+1)
			}
		}
		if len(s.Next) > 0 && s.MaxRounds < 1 {
			return fmt.Errorf("step %d has rules, but no bound on its rounds", i+1)
		}
	}
	return nil
}

// clone returns a copy that shares nothing with s; its rules are never nil.
func (s TemplateStep) clone() TemplateStep {
	s.Next = append([]Rule{}, s.Next...)
	return s
}

// setTargets fills in the goto of each rule.
func setTargets(steps []TemplateStep, targets []target) error {
	for _, to := range targets {
		n, err := resolve(steps, to.value)
		if err != nil {
			return err
		}
		steps[to.step].Next[to.rule].Goto = n
	}
	return nil
}
