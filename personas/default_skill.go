package personas

import (
	"bytes"
	_ "embed"
	"strings"
	"sync"
	"text/template"
)

//go:embed template.md
var templateText string

var skillTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("skill").Parse(templateText))
})

// template is the skill of a persona for which none was given: one that works as it is, and
// whose headings ask to be filled.
func (in New) template() string {
	title := func(s string) string { return strings.ToUpper(s[:1]) + s[1:] } // ASCII words
	var b bytes.Buffer
	err := skillTemplate().Execute(&b, map[string]string{
		"Name": title(in.Name),
		"Role": strings.ReplaceAll(in.Role, "-", " "),
	})
	if err != nil {
		panic("persona template: " + err.Error()) // it is our own, and tested
	}
	return b.String()
}
