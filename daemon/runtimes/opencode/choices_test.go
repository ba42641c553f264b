package opencode

import (
	"testing"
)

// OpenCode's mirror names the model that a person has chosen for the answer.
func TestMirrorNamesTheChosenModel(t *testing.T) {
	t.Parallel()
	for choice, want := range map[string]string{
		`{"providerID":"fake","modelID":"fake-1"}`: "fake/fake-1", `{"modelID":"fake-1"}`: "", `"fake-1"`: "", ``: "",
	} {
		m := at(100, Info{ID: "a", Role: "user", Choice: []byte(choice)}, says("do it"))
		e, err := Runtime.ParseEntry(m.Lines("s", true, false))
		if err != nil || e.Model != want || e.Role != "user" {
			t.Errorf("%s: %+v, %v", choice, e, err)
		}
	}
}
