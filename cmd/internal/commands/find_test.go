package commands

import (
	"fmt"
	"testing"

	"github.com/understudyd/understudy/daemon"
)

// TestCalled: a name that matches exactly beats a persona, also where the persona is another agent's; both beat the beginning of a
// name.
func TestCalled(t *testing.T) {
	t.Parallel()
	persona := "developer-con-1"
	agents := []daemon.Agent{
		{ID: 3, Name: "third", Persona: &persona},
		{ID: 2, Name: persona},
		{ID: 5, Name: "third-party"}, {ID: 1, Name: "twin"}, {ID: 4, Name: "twin", Persona: new("reviewer-ada-1")},
	}
	for word, want := range map[string][]int64{
		persona: {2}, "third": {3}, "twin": {1, 4}, "reviewer-ada-1": {4}, "nobody": nil, "third-": {5}, "thi": {3, 5}, "tw": {1, 4},
	} {
		var got []int64
		for _, a := range called(agents, word) {
			got = append(got, a.ID)
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: agents %v, want %v", word, got, want)
		}
	}
	if got := called(agents[:1], persona); len(got) != 1 || got[0].ID != 3 {
		t.Errorf("by persona alone: %+v", got)
	}
}
