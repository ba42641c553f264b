package data

import "testing"

func TestUnderReadsTheTextOfTheFirstHeading(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		document, title, want string
		ok                    bool
	}{
		{"## Verdict\n\nready\n", "Verdict", "ready", true},
		{"# verdict:\r\nnot ready\r\n\r\n## Other\r\nx", "Verdict", "not ready", true},
		{"## A\na\n### B\nb\n## A\nc", "a", "a", true},
		{"## Verdict", "Verdict", "", true},
		{"## Verdict\n## Other\nx", "Verdict", "", true},
		{"```\n## Verdict\nx\n```\n", "Other", "", false},
		{"text\n```\n## Verdict\nx\n```\nmore", "Verdict", "", false},
		{"```md\n## Verdict\nready\n```", "Verdict", "ready", true},
		{"Verdict: ready", "Verdict", "", false},
		{"", "Verdict", "", false},
	} {
		if got, ok := Under(test.document, test.title); got != test.want || ok != test.ok {
			t.Errorf("under %q of %q stands %q, %t; want %q, %t", test.title, test.document, got, ok, test.want, test.ok)
		}
	}
}

func TestSaysComparesWholeWords(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		text, phrase string
		want         bool
	}{
		{"**Changes requested.** See below.", "changes requested", true},
		{"changes\n  Requested", "Changes requested", true},
		{"changes-requested", "changes requested", true},
		{"changes were requested", "changes requested", false},
		{"already", "ready", false},
		{"ready", "not ready", false},
		{"not ready", "ready", true},
		{"ÄNDERN!", "ändern", true},
		{"anything", "", false},
		{"...", "...", false},
	} {
		if got := Says(test.text, test.phrase); got != test.want {
			t.Errorf("%q says %q: %t", test.text, test.phrase, got)
		}
	}
}
