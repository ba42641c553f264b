package personas

import (
	"strings"
	"testing"
)

// TestNewPersonaIsWhatItsDescriptionSays: the model is given the description, and no sentence that is meant for a person.
func TestNewPersonaIsWhatItsDescriptionSays(t *testing.T) {
	t.Parallel()
	for description, want := range map[string]string{
		"":                              "Your role is data engineer.\n",
		"Works on the billing service":  "Your role is data engineer. What you are for: Works on the billing service.\n",
		"Keeps $1 and {{.Name}} apart.": "Your role is data engineer. What you are for: Keeps $1 and {{.Name}} apart.\n",
	} {
		text := value(New{Role: "data-engineer", Name: "leo", Description: description}.skillFile("data-engineer-leo-1"))(t)
		p, err := Parse("data-engineer-leo-1", text)
		if err != nil || !strings.Contains(p.Skill, want) || strings.Contains(p.Skill, "Say here") {
			t.Errorf("%q: %v\n%s", description, err, p.Skill)
		}
		// A skill that an earlier release wrote.
		old := strings.Replace(string(text), want, "Your role is data engineer. Say here, in two or three sentences, what this persona is responsible\nfor, for whom, and how good work is told from bad.\n", 1)
		if p, err = Parse("data-engineer-leo-1", []byte(old)); err != nil || strings.Contains(p.Skill, "Say here") || description != "" && !strings.Contains(p.Skill, want) {
			t.Errorf("%q, of an earlier release: %v\n%s", description, err, p.Skill)
		}
		equal(t, "the file that a person edits is changed", p.SkillFile, old)
	}
}
