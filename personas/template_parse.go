package personas

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

const (
	maxTemplateSteps = 50
	maxTemplateName  = 64 // bytes
	maxStepTime      = 30 * 24 * time.Hour
)

var (
	templateKeys = []string{"name", "description", "steps"}
	stepKeys     = []string{"agent", "description", "prompt", "approval", "remind_after", "timeout"}
)

// templateFile is the name that errors call a template's file by.
type templateFile string

// errorf makes an error that begins with the file and the line; 0: it is the file as a whole.
func (f templateFile) errorf(line int, format string, args ...any) error {
	if line == 0 {
		return fmt.Errorf("%s: %s", string(f), fmt.Sprintf(format, args...))
	}
	return fmt.Errorf("%s:%d: %s", string(f), line, fmt.Sprintf(format, args...))
}

// parse reads the text of a template, strictly: a key that is misspelt would be a gate or a
// deadline that nobody has. A text may be left empty. It returns the line of the name too.
func (f templateFile) parse(b []byte) (t Template, nameLine int, err error) {
	top, err := f.document(b)
	if err != nil {
		return Template{}, 0, err
	}
	lines := map[string]int{"name": top.Line, "steps": top.Line}
	err = f.eachKey(top, "the template", templateKeys, func(key string, value *yaml.Node) (err error) {
		lines[key] = value.Line
		switch key {
		case "name":
			t.Name, err = f.text(value, key)
		case "description":
			t.Description, err = f.text(value, key)
		case "steps":
			t.Steps, err = f.steps(value)
		}
		return err
	})
	switch {
	case err != nil:
	case t.Name == "":
		err = f.errorf(lines["name"], "the template has no name: add a line such as name: full_feature")
	case !isTemplateName(t.Name):
		err = f.errorf(lines["name"], "name %s must be one word of a-z, 0-9, _ and -, of at most %d characters, that begins with a letter or digit", quote(t.Name), maxTemplateName)
	case len(t.Steps) == 0:
		err = f.errorf(lines["steps"], "the template has no steps: list them under steps:, each with - agent: and a role or a persona's slug")
	}
	if err != nil {
		return Template{}, 0, err
	}
	return t, lines["name"], nil
}

func (f templateFile) steps(list *yaml.Node) ([]TemplateStep, error) {
	switch {
	case list.ShortTag() == "!!null":
		return nil, nil
	case list.Kind != yaml.SequenceNode:
		return nil, f.errorf(list.Line, "steps must be a list: begin each with - agent: and a role or a persona's slug")
	case len(list.Content) > maxTemplateSteps:
		return nil, f.errorf(list.Content[maxTemplateSteps].Line, "the template has %d steps and the limit is %d: split it into several templates", len(list.Content), maxTemplateSteps)
	}
	var steps []TemplateStep
	for i, n := range list.Content {
		step, err := f.step(n, fmt.Sprintf("step %d", i+1))
		if err != nil {
			return nil, err
		}
		steps = append(steps, step)
	}
	return steps, nil
}

// step reads one step, which errors call what.
func (f templateFile) step(n *yaml.Node, what string) (s TemplateStep, err error) {
	lines := map[string]int{"agent": n.Line}
	err = f.eachKey(n, what, stepKeys, func(key string, value *yaml.Node) (err error) {
		lines[key] = value.Line
		label := what + ": " + key
		switch key {
		case "agent":
			s.Agent, err = f.text(value, label)
		case "description":
			s.Description, err = f.text(value, label)
		case "prompt":
			s.Prompt, err = f.text(value, label)
		case "approval":
			s.Approval, err = f.truth(value, label)
		case "remind_after":
			s.RemindAfter, err = f.duration(value, label)
		case "timeout":
			s.Timeout, err = f.duration(value, label)
		}
		return err
	})
	switch {
	case err != nil:
	case s.Agent == "":
		err = f.errorf(lines["agent"], "%s has no agent: add agent: and a role such as developer or a persona's slug", what)
	case !isRole(s.Agent): // every slug has the form of a role
		err = f.errorf(lines["agent"], "%s: agent %s must be a role such as senior-reviewer or a persona's slug such as developer-con-1, in lower-case letters, digits and single hyphens, of at most %d characters", what, quote(s.Agent), maxSlug)
	case s.RemindAfter > 0 && !s.Approval:
		err = f.errorf(lines["remind_after"], "%s: remind_after is of use with an approval alone: add approval: true or remove it", what)
	}
	if err != nil {
		return TemplateStep{}, err
	}
	return s, nil
}

// text is a text without the blanks around it.
func (f templateFile) text(n *yaml.Node, label string) (string, error) {
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str" && n.ShortTag() != "!!null" {
		return "", f.errorf(n.Line, "%s must be text: put it in quotes", label)
	}
	if n.ShortTag() == "!!null" {
		return "", nil
	}
	if strings.ContainsFunc(n.Value, isBadControl) {
		return "", f.errorf(n.Line, "%s has a control character: remove it", label)
	}
	return strings.TrimSpace(n.Value), nil
}

func (f templateFile) truth(n *yaml.Node, label string) (b bool, err error) {
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!bool" || n.Decode(&b) != nil {
		return false, f.errorf(n.Line, "%s must be true or false", label)
	}
	return b, nil
}

// duration reads a Go duration or a number of seconds.
func (f templateFile) duration(n *yaml.Node, label string) (time.Duration, error) {
	var seconds float64
	var err error
	switch {
	case n.Kind != yaml.ScalarNode:
		err = errors.New("no scalar")
	case n.ShortTag() == "!!int" || n.ShortTag() == "!!float":
		err = n.Decode(&seconds)
	case n.ShortTag() == "!!str":
		var d time.Duration
		d, err = time.ParseDuration(strings.TrimSpace(n.Value))
		seconds = d.Seconds()
	default:
		err = errors.New("no number")
	}
	if err != nil {
		return 0, f.errorf(n.Line, "%s must be a time such as 90s or 1h30m, or a number of seconds", label)
	}
	// Not a number is in no range, and what is rounded to nothing would mean that there is no limit.
	if !(seconds >= time.Nanosecond.Seconds() && seconds <= maxStepTime.Seconds()) {
		return 0, f.errorf(n.Line, "%s must be more than 0 and at most 30 days (720h)", label)
	}
	return time.Duration(math.Round(seconds * float64(time.Second))), nil
}

// eachKey calls do for each key of a mapping, which errors call what.
func (f templateFile) eachKey(n *yaml.Node, what string, known []string, do func(key string, value *yaml.Node) error) error {
	if n.Kind != yaml.MappingNode {
		return f.errorf(n.Line, "%s must be lines of key: value; the keys are %s", what, strings.Join(known, ", "))
	}
	seen := map[string]bool{}
	for content := n.Content; len(content) >= 2; content = content[2:] {
		key := content[0]
		switch {
		case key.Kind != yaml.ScalarNode || !slices.Contains(known, key.Value):
			return f.errorf(key.Line, "%s has an unknown key %s: correct or remove it; the keys are %s", what, quote(key.Value), strings.Join(known, ", "))
		case seen[key.Value]:
			return f.errorf(key.Line, "%s has the key %s twice: remove one of them", what, key.Value)
		}
		seen[key.Value] = true
		if err := do(key.Value, content[1]); err != nil {
			return err
		}
	}
	return nil
}

// document reads the file's one YAML document.
func (f templateFile) document(b []byte) (*yaml.Node, error) {
	if i := badText(b); i >= 0 {
		return nil, f.errorf(lineAt(b, i), "a NUL byte or invalid UTF-8: save the file as UTF-8 text")
	}
	if i := bytes.IndexFunc(b, func(r rune) bool { return isBadControl(r) && r != '\r' }); i >= 0 {
		return nil, f.errorf(lineAt(b, i), "a control character: remove it")
	}
	docs, err := decodeAll(b)
	switch {
	case err != nil:
		why := err.Error()[strings.LastIndex(err.Error(), ": ")+1:]
		return nil, f.errorf(syntaxLine(b), "not YAML (%s): check the indentation, and put quotes around text that contains a colon", strings.TrimSpace(why))
	case len(docs) == 0 || docs[0].Content[0].ShortTag() == "!!null":
		return nil, f.errorf(1, "the file is empty: give it a name and steps, or delete it")
	case len(docs) > 1:
		return nil, f.errorf(docs[1].Line, "a second document begins: put each template into a file of its own")
	}
	return docs[0].Content[0], nil
}

func decodeAll(b []byte) (docs []yaml.Node, err error) {
	for d := yaml.NewDecoder(bytes.NewReader(b)); ; {
		var doc yaml.Node
		err := d.Decode(&doc)
		if errors.Is(err, io.EOF) {
			return docs, nil
		}
		if err != nil {
			return nil, err
		}
		docs = append(docs, doc)
	}
}

// syntaxLine finds the line in which a text ceases to be YAML: the one behind the longest part
// that is. The parser itself often names the line where the block or list around it begins. 0: it
// would take too long to find.
func syntaxLine(b []byte) int {
	const budget = 4 << 20 // bytes to parse
	for spent := 0; len(b) > 0; {
		b = b[:1+bytes.LastIndexByte(b[:len(b)-1], '\n')]
		if spent += len(b); spent > budget {
			return 0
		}
		if _, err := decodeAll(b); err == nil {
			break
		}
	}
	return 1 + bytes.Count(b, []byte("\n"))
}

// isBadControl reports whether a character would do something to a terminal.
func isBadControl(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }

func isTemplateName(s string) bool {
	return len(s) <= maxTemplateName && isWord(s[:1]) && isWord(strings.NewReplacer("_", "", "-", "").Replace(s))
}

// isRole reports whether s is words joined by single hyphens, and no longer than a slug.
func isRole(s string) bool {
	for word := range strings.SplitSeq(s, "-") {
		if !isWord(word) {
			return false
		}
	}
	return len(s) <= maxSlug
}

// quote shows what a file holds, in one line that is not too long.
func quote(s string) string {
	if utf8.RuneCountInString(s) > 40 {
		s = string([]rune(s)[:40]) + "…"
	}
	return fmt.Sprintf("%q", s)
}
