package data

import "testing"

func TestWeigh(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		text, phrase string
		want         Verdict
	}{
		{"**Changes requested.** See below.", "changes requested", Said},
		{"changes\n  Requested", "Changes requested", Said},
		{"changes-requested", "changes requested", Said},
		{"`CHANGES_REQUESTED`", "changes requested", Said},
		{"ＣＨＡＮＧＥＳ requested", "changes requested", Said},
		{"changes\u00a0requested", "changes requested", Said},
		{"chan\u00adges reques\u200bted", "changes requested", Said},
		{"„Changes requested“", "changes requested", Said},
		{"```\nchanges requested\n```", "changes requested", Said},
		{"Not approved: changes requested", "changes requested", Said},
		{"No, changes requested", "changes requested", Said},
		{"Approved? No. Changes requested.", "changes requested", Said},
		{"Changes requested: no tests for the empty list", "changes requested", Said},
		{"| Verdict | changes requested |", "changes requested", Said},
		{"- [ ] approved\n- [x] changes requested", "changes requested", Said},
		{"not ready", "not ready", Said},
		{"Approved with comments", "approved", Said},
		{"Changes requested - the handler should not return null", "changes requested", Said},
		{"a\u0308ndern!", "ändern", Said},

		{"- [ ] approved\n- [x] changes requested", "approved", Unsaid},
		{"~~changes requested~~ approved", "changes requested", Unsaid},
		{"<!-- changes requested -->approved", "changes requested", Unsaid},
		{"No changes requested.", "changes requested", Unsaid},
		{"no changes were requested", "changes requested", Unsaid},
		{"Keine Änderungen verlangt", "Änderungen verlangt", Unsaid},
		{"Changes requested: none", "changes requested", Unsaid},
		{"Changes requested? No.", "changes requested", Unsaid},
		{"[x] Approved\n[ ] Changes requested", "changes requested", Unsaid},
		{"☑ Approved\n☐ Changes requested", "changes requested", Unsaid},
		{"It isn't ready", "ready", Unsaid},
		{"not ready", "ready", Unsaid},
		{"already", "ready", Unsaid},
		{"ready", "not ready", Unsaid},
		{"the change is good; tests were requested", "changes requested", Unsaid},
		{"the chance is gone", "change", Unsaid},
		{"anything", "", Unsaid},
		{"...", "...", Unsaid},

		{"Changes requested ❌", "changes requested", Said},
		{"❌ Changes requested", "changes requested", Said},
		{"Approved\n❌ one nit", "approved", Said},
		{"REQUEST_CHANGES", "changes requested", Near},
		{"changes were requested", "changes requested", Near},
		{"I request some changes", "changes requested", Near},
		{"approval", "approved", Near},

		{"approved | changes requested", "changes requested", Unclear},
		{"approved/changes requested", "approved", Unclear},
		{"(approved or changes requested)", "approved", Unclear},
		{"entweder genehmigt oder abgelehnt", "abgelehnt", Unclear},
		{"one of: approved, changes requested", "changes requested", Unclear},
		{"changes requested?", "changes requested", Unclear},
		{"(x) approved ( ) changes requested", "changes requested", Unclear},
		{"I would not call this approved", "approved", Unclear},
		{"far from approved", "approved", Unclear},
		{"Will be approved after the changes", "approved", Unclear},
		{"Approved once the tests pass", "approved", Unclear},
		{"Conditionally approved", "approved", Unclear},
		{"Approved: ❌", "approved", Unclear},
		{"❌ Approved", "approved", Unclear},
		{"| Approved | 🚫 |", "approved", Unclear},
		{"The changes requested in round 1 are done", "changes requested", Unclear},
		{"Earlier: changes requested", "changes requested", Unclear},
		{"No changes requested before, changes requested now", "changes requested", Unclear},
	} {
		equal(t, test.text+" says "+test.phrase, Weigh(test.text, test.phrase), test.want)
	}
}

func FuzzWeigh(f *testing.F) {
	f.Add("no changes | requested?", "changes requested")
	f.Add("- [ ] a\n| b | <!-- ~~", "b")
	f.Fuzz(func(t *testing.T, text, phrase string) {
		if got := Weigh(text, phrase); got < Unsaid || got > Said {
			t.Fatal(got)
		}
	})
}
