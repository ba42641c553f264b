package dashboard

import (
	"io/fs"
	"regexp"
	"testing"
)

// TestNoTemplateHidesAnother: of two templates with one name the later file wins, and the pages with the other one break.
func TestNoTemplateHidesAnother(t *testing.T) {
	t.Parallel()
	define := regexp.MustCompile(`\{\{-? *define "([^"]+)"`)
	from := map[string]string{}
	all, err := fs.Glob(files, "html/*.html")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range all {
		text, err := fs.ReadFile(files, file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range define.FindAllStringSubmatch(string(text), -1) {
			if was := from[m[1]]; was != "" {
				t.Errorf("template %q is in %s and in %s", m[1], was, file)
			}
			from[m[1]] = file
		}
	}
	if len(from) == 0 {
		t.Error("no template was found")
	}
}
