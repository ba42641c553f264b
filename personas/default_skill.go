package personas

import (
	"bytes"
	_ "embed"
	"regexp"
	"strings"
	"sync"
	"text/template"
)

//go:embed default_skill.md
var defaultSkillText string

var defaultSkillTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("skill").Parse(defaultSkillText))
})

// defaultSkill returns the skill of a persona for which the user gave none. The skill works
// unchanged: it says what the description says, and asks the model for nothing that a person should write.
func (in New) defaultSkill() string {
	title := func(s string) string { return strings.ToUpper(s[:1]) + s[1:] } // ASCII words
	var b bytes.Buffer
	err := defaultSkillTemplate().Execute(&b, map[string]string{
		"Name":  title(in.Name),
		"Role":  strings.ReplaceAll(in.Role, "-", " "),
		"About": about(in.Role, in.Description),
	})
	if err != nil {
		panic("default skill: " + err.Error()) // cannot happen: the template is our own, and tested
	}
	return b.String()
}

// about says what a persona is for, as a sentence or two.
func about(role, description string) string {
	text := "Your role is " + strings.ReplaceAll(role, "-", " ") + "."
	if description = strings.TrimSpace(description); description == "" {
		return text
	}
	if !strings.ContainsAny(description[len(description)-1:], ".!?") {
		description += "."
	}
	return text + " What you are for: " + description
}

// askedHere is what earlier releases wrote into the skill of a new persona, for a person to replace. Many have not.
var askedHere = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`Your role is [a-z0-9 ]+\. Say here, in two or three sentences, what this persona is responsible\s+for, for whom, and how good work is told from bad\.`)
})

// withoutPlaceholder returns a skill with the description in place of a sentence that is meant for a person.
func withoutPlaceholder(skill, role, description string) string {
	return askedHere().ReplaceAllLiteralString(skill, about(role, description))
}
