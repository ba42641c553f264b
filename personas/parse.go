package personas

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"go.yaml.in/yaml/v3"

	"github.com/understudyd/understudy/data/yamlfile"
)

const (
	// maxFile is the largest size of skill.md and of a template, in bytes. skill.md becomes part of every session's system prompt.
	maxFile = 256 << 10
	// maxExperience is how much of experience.md does, the newest part of it. Agents write it, and what they write must stop nobody. With it
	// and a skill of some pages fits what Codex takes on its command line, 128 KiB.
	maxExperience = 96 << 10
)

// Persona is a role that an agent plays, as the persona's files described it when they were read.
// It contains no references, so copies are independent.
type Persona struct {
	Slug           string
	Role           string // Role, Name and N are the parts of the slug
	Name           string
	N              int
	Description    string
	Runtime        string // "" for the default
	Model          string // "" for the runtime's own default
	OnLimit        string // what is done at a usage limit: wait, hand_over or ask; "" for what the settings say
	Sandbox        bool   // its agents run in a sandbox
	Fallback       string // runtimes for successors at a limit, the best first, with commas between; "" for what the settings say
	Auto           string // automatic handoffs: on, off, or from how many percent of the context; "" for what the settings say
	NotifyFinished string // whether the operator is notified of each finished turn: on or off; "" for off
	Permissions    Permissions
	Budget         Budget
	Skill          string // the text below the front matter
	SkillFile      string // the whole text of skill.md, with U+FFFD for bytes that are not UTF-8
	Experience     string // the text of experience.md, or the newest part of it
	ExperienceCut  int64  // how many bytes of experience.md stand before that part
	Former         string // the slugs that it had before, the oldest first, with commas between; "": it was never renamed
	Dir            string // the absolute path of the folder
	Handoffs       int    // how many handoff documents the persona has
	Archived       bool
	Problem        string    // why the persona can't be used, in a sentence; "" if it can
	ModTime        time.Time // of skill.md
}

// ParseError says what is wrong in a skill.md, and in which line.
type ParseError struct {
	Line    int // counted from 1; 0 stands for the whole file
	Message string
}

func (e *ParseError) Error() string {
	if e.Line == 0 {
		return "skill.md " + e.Message
	}
	return fmt.Sprintf("skill.md, line %d: %s", e.Line, e.Message)
}

func parseError(line int, format string, args ...any) error {
	return &ParseError{Line: line, Message: fmt.Sprintf(format, args...)}
}

// Parse reads the text of a skill.md. The text begins with front matter in YAML between two lines
// of ---, with the keys name, description and optionally runtime, model, on_limit, fallback, auto, notify_finished, permissions, budget
// and sandbox. The skill follows.
// Parse ignores other keys, because the files of Claude Code's own agents have keys such as tools
// and color. The error is a [ParseError], or an error about the slug.
func Parse(slug string, skill []byte) (Persona, error) {
	s, err := ParseSlug(slug)
	if err != nil {
		return Persona{}, err
	}
	if len(skill) > maxFile {
		return Persona{}, parseError(0, "has %d bytes and the limit is %d", len(skill), maxFile)
	}
	if err := yamlfile.CheckText(skill); err != nil {
		return Persona{}, inSkill(err)
	}
	front, body, err := splitFrontMatter(string(skill))
	if err != nil {
		return Persona{}, err
	}
	p := Persona{Slug: slug, Role: s.Role, Name: s.Name, N: s.N, SkillFile: string(skill), Skill: body}
	if err := p.readFrontMatter(front); err != nil {
		return Persona{}, err
	}
	p.Skill = withoutPlaceholder(p.Skill, p.Role, p.Description)
	if strings.TrimSpace(body) == "" {
		return Persona{}, parseError(0, "has no text below its front matter")
	}
	return p, nil
}

func lineAt(b []byte, offset int) int { return 1 + bytes.Count(b[:offset], []byte("\n")) }

// splitFrontMatter cuts the text at the lines of ---. front begins with a blank line in place of the
// first ---, so that line numbers in front are the same as in the file.
func splitFrontMatter(text string) (front, body string, err error) {
	text = strings.TrimPrefix(text, "\uFEFF")
	first, rest, _ := strings.Cut(text, "\n")
	if !isFence(first) {
		return "", "", parseError(1, "front matter is missing: begin the file with a line of ---")
	}
	var b strings.Builder
	b.WriteByte('\n')
	for line := range strings.Lines(rest) {
		if isFence(strings.TrimSuffix(line, "\n")) {
			body = rest[b.Len()-1+len(line):]
			return b.String(), strings.TrimLeft(body, "\r\n"), nil
		}
		b.WriteString(line)
	}
	return "", "", parseError(1, "front matter has no end: close it with a line of ---")
}

// isArgument reports whether a text is one argument of a command and does not look like a flag.
func isArgument(text string) bool {
	return !strings.ContainsFunc(text, unicode.IsSpace) && !strings.HasPrefix(text, "-")
}

func isFence(line string) bool { return strings.TrimRight(line, " \t\r") == "---" }

// readFrontMatter reads the front matter's keys into p.
func (p *Persona) readFrontMatter(front string) error {
	top, err := yamlfile.ParseFront([]byte(front), "front matter")
	if err != nil {
		return inSkill(err)
	}
	if top.Kind != yaml.MappingNode {
		return parseError(2, "front matter must be lines of key: value, with name and description")
	}
	var name string
	fields := map[string]*string{"name": &name, "description": &p.Description, "runtime": &p.Runtime, "model": &p.Model}
	seen := map[string]bool{}
	for content := top.Content; len(content) >= 2; content = content[2:] {
		key, value := content[0], content[1]
		field := fields[key.Value]
		if field == nil && !slices.Contains(policyKeys, key.Value) {
			continue
		}
		if seen[key.Value] {
			return parseError(key.Line, "%s is given twice", key.Value)
		}
		seen[key.Value] = true
		if field == nil {
			if err := p.readPolicy(yamlfile.Value{Node: value, Of: key.Value}); err != nil {
				return err
			}
			continue
		}
		text, err := yamlfile.Value{Node: value, Of: key.Value}.Text()
		if err != nil {
			return inSkill(err)
		}
		// Runtime and Model become arguments of a command, so refuse values that would not be one argument or
		// would look like a flag.
		if (field == &p.Runtime || field == &p.Model) && !isArgument(text) {
			return parseError(value.Line, "%s must be one word that does not begin with a hyphen", key.Value)
		}
		*field = text
	}
	for _, key := range []string{"name", "description"} {
		if *fields[key] == "" {
			return parseError(1, "front matter has no %s", key)
		}
	}
	// In Claude Code's agent files "inherit" means the model of the calling session. No session calls a
	// persona, so use the default model.
	if p.Model == "inherit" {
		p.Model = ""
	}
	return nil
}

// inSkill makes a [ParseError] from an error of the front matter.
func inSkill(err error) error {
	if e, ok := errors.AsType[*yamlfile.Error](err); ok {
		return parseError(e.Line, "%s", strings.TrimSpace(e.Of+" "+e.Message))
	}
	return err
}
