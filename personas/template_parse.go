package personas

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/understudyd/understudy/data/yamlfile"
)

const (
	maxTemplateSteps = 50
	maxTemplateName  = 64 // bytes
	maxStepTime      = 30 * 24 * time.Hour
)

var (
	templateKeys = []string{"name", "description", "steps"}
	stepKeys     = []string{"agent", "description", "prompt", "approval", "remind_after", "timeout", "runtime", "model", "next", "else", "max_rounds"}
)

// parsedTemplate is a template as its text says it, and the line of its name.
type parsedTemplate struct {
	Template
	line int
}

// templateFile is the name of a template's file in errors.
type templateFile string

// errorf makes an error that begins with the file and the line. If line is 0, the error is about the
// whole file.
func (f templateFile) errorf(line int, format string, args ...any) error {
	if line == 0 {
		return fmt.Errorf("%s: %s", string(f), fmt.Sprintf(format, args...))
	}
	return fmt.Errorf("%s:%d: %s", string(f), line, fmt.Sprintf(format, args...))
}

// parse reads the text of a template. It refuses unknown keys, because a misspelt key would be an
// approval or a deadline that is missing without notice. Descriptions and prompts may be empty.
func (f templateFile) parse(b []byte) (parsedTemplate, error) {
	t, nameLine, err := parseTemplate(b)
	if e, ok := errors.AsType[*yamlfile.Error](err); ok {
		err = f.errorf(e.Line, "%s", strings.TrimSpace(e.Of+" "+e.Message))
	}
	if err != nil {
		return parsedTemplate{}, err
	}
	return parsedTemplate{t, nameLine}, nil
}

func parseTemplate(b []byte) (t Template, nameLine int, err error) {
	if err := yamlfile.CheckText(b); err != nil {
		return t, 0, err
	}
	if i := bytes.IndexFunc(b, func(r rune) bool { return yamlfile.IsControl(r) && r != '\r' }); i >= 0 {
		return t, 0, &yamlfile.Error{Line: lineAt(b, i), Message: "a control character: remove it"}
	}
	top, err := yamlfile.Parse(b, "the template")
	switch {
	case err != nil:
		return t, 0, err
	case top.Empty():
		return t, 0, &yamlfile.Error{Line: 1, Message: "the file is empty: give it a name and steps, or delete it"}
	}
	name, steps := top, top
	err = top.Each(templateKeys, func(key, value yamlfile.Value) (err error) {
		switch key.Value {
		case "name":
			name.Node = value.Node
			t.Name, err = value.Text()
		case "description":
			t.Description, err = value.Text()
		case "steps":
			steps.Node = value.Node
			t.Steps, err = parseSteps(value)
		}
		return err
	})
	switch {
	case err != nil:
	case t.Name == "":
		err = name.Errorf("has no name: add a line such as name: full_feature")
	case !isTemplateName(t.Name):
		name.Of = "name"
		err = name.Errorf("%s must be one word of a-z, 0-9, _ and -, of at most %d characters, that begins with a letter or digit", yamlfile.Quote(t.Name), maxTemplateName)
	case len(t.Steps) == 0:
		err = steps.Errorf("has no steps: list them under steps:, each with - agent: and a role or a persona's slug")
	}
	return t, name.Line, err
}

func parseSteps(list yamlfile.Value) (steps []TemplateStep, err error) {
	var gotos []target
	items, err := list.Items(": begin each with - agent: and a role or a persona's slug")
	for i, n := range items {
		if i == maxTemplateSteps {
			n.Of = "the template"
			return nil, n.Errorf("has %d steps and the limit is %d: split it into several templates", len(items), maxTemplateSteps)
		}
		n.Of = fmt.Sprintf("step %d", i+1)
		step, targets, err := parseStep(n)
		if err != nil {
			return nil, err
		}
		for _, to := range targets {
			to.step = i
			gotos = append(gotos, to)
		}
		steps = append(steps, step)
	}
	if err == nil {
		err = setTargets(steps, gotos)
	}
	return steps, err
}

func parseStep(n yamlfile.Value) (s TemplateStep, targets []target, err error) {
	agent, remind, bound, other := n, n, n, n
	err = n.Each(stepKeys, func(key, value yamlfile.Value) (err error) {
		value.Of = n.Of + ": " + key.Value
		switch key.Value {
		case "agent":
			agent.Node = value.Node
			s.Agent, err = value.Text()
		case "description":
			s.Description, err = value.Text()
		case "prompt":
			s.Prompt, err = value.Text()
		case "approval":
			s.Approval, err = truth(value)
		case "remind_after":
			remind = value
			s.RemindAfter, err = duration(value)
		case "timeout":
			s.Timeout, err = duration(value)
		case "runtime":
			s.Runtime, err = argument(value)
		case "model":
			s.Model, err = argument(value)
		case "next":
			var elsewhere string
			if s.Next, targets, elsewhere, err = parseNext(value); elsewhere != "" {
				s.Otherwise = elsewhere
			}
		case "else":
			other = value
			s.Otherwise, err = otherwise(value)
		case "max_rounds":
			bound = value
			s.MaxRounds, err = rounds(value)
		}
		return err
	})
	switch {
	case err != nil:
	case s.Agent == "":
		err = agent.Errorf("has no agent: add agent: and a role such as developer or a persona's slug")
	case !isRole(s.Agent): // every slug has the form of a role
		agent.Of += ": agent"
		err = agent.Errorf("%s must be a role such as senior-reviewer or a persona's slug such as developer-con-1, in lower-case letters, digits and single hyphens, of at most %d characters", yamlfile.Quote(s.Agent), maxSlug)
	case s.RemindAfter > 0 && !s.Approval:
		err = remind.Errorf("is of use with an approval alone: add approval: true or remove it")
	case s.Otherwise != "" && len(s.Next) == 0:
		err = other.Errorf("is of use with next alone: add next: or remove it")
	case s.MaxRounds > 0 && len(s.Next) == 0:
		err = bound.Errorf("is of use with next alone: add next: or remove it")
	case s.MaxRounds == 0 && len(s.Next) > 0:
		s.MaxRounds = defaultRounds
	}
	return s, targets, err
}

// argument reads a word that becomes an argument of a command, and refuses one that the command would read as a flag.
func argument(v yamlfile.Value) (string, error) {
	text, err := v.Text()
	if err == nil && !isArgument(text) {
		err = v.Errorf("must be one word that does not begin with a hyphen")
	}
	return text, err
}

func truth(v yamlfile.Value) (b bool, err error) {
	if v.Kind != yaml.ScalarNode || v.ShortTag() != "!!bool" || v.Decode(&b) != nil {
		return false, v.Errorf("must be true or false")
	}
	return b, nil
}

// duration reads a Go duration or a number of seconds.
func duration(v yamlfile.Value) (time.Duration, error) {
	var seconds float64
	var err error
	switch {
	case v.Kind != yaml.ScalarNode:
		err = errors.New("no scalar")
	case v.ShortTag() == "!!int" || v.ShortTag() == "!!float":
		err = v.Decode(&seconds)
	case v.ShortTag() == "!!str":
		var d time.Duration
		d, err = time.ParseDuration(strings.TrimSpace(v.Value))
		seconds = d.Seconds()
	default:
		err = errors.New("no number")
	}
	if err != nil {
		return 0, v.Errorf("must be a time such as 90s or 1h30m, or a number of seconds")
	}
	// Written with !, because the comparisons with NaN are false. Refuse a time that would round to 0,
	// because 0 means the default of the field.
	if !(seconds >= time.Nanosecond.Seconds() && seconds <= maxStepTime.Seconds()) {
		return 0, v.Errorf("must be more than 0 and at most 30 days (720h)")
	}
	return time.Duration(math.Round(seconds * float64(time.Second))), nil
}

func isTemplateName(s string) bool {
	return len(s) <= maxTemplateName && isWord(s[:1]) && isWord(strings.NewReplacer("_", "", "-", "").Replace(s))
}

// isRole reports whether s is words joined by single hyphens, and no longer than a slug may be.
func isRole(s string) bool {
	for word := range strings.SplitSeq(s, "-") {
		if !isWord(word) {
			return false
		}
	}
	return len(s) <= maxSlug
}
