package data

import "testing"

func TestUnderReadsTheTextOfEachHeading(t *testing.T) {
	t.Parallel()
	for in, want := range map[string][]Under{
		"## Verdict\n\nready\n":                          {{"", "ready"}},
		"# verdict:\r\nnot ready\r\n\r\n## Other\r\nx":   {{"", "not ready"}},
		"## Verdict\na\n### B\nb\n## Verdict\nc":         {{"", "a"}, {"", "c"}},
		"## Verdict":                                     {{"", ""}},
		"## Verdict\n## Other\nx":                        {{"", ""}},
		"text\n```\n## Verdict\nx\n```\nmore":            nil,
		"text\n```\nVerdict: x\n```\nmore":               nil,
		"text\n~~~\n**Verdict:** x\n~~~":                 nil,
		"```md\n## Verdict\nready\n```":                  {{"", "ready"}},
		"Verdict: ready":                                 {{"ready", "ready"}},
		"The verdict: ready":                             nil,
		"My Verdict of today: ready":                     nil,
		"Verdict":                                        nil,
		"> ## Verdict\n> ready":                          nil,
		"    Verdict: ready":                             nil,
		"## Verdicts\nready":                             nil,
		"## Verdict-driven work\nready":                  nil,
		"":                                               nil,
		"## Verdict: changes requested":                  {{"changes requested", "changes requested"}},
		"## Verdict: no\n\nBecause.\n# B":                {{"no", "no\n\nBecause."}},
		"## **Verdict: no**":                             {{"no", "no"}},
		"## Verdict — no ##":                             {{"no", "no"}},
		"## Verdict - no":                                {{"no", "no"}},
		"## Verdict ❌ no":                                {{"no", "no"}},
		"## ✅ Verdict ✅\nyes":                            {{"", "yes"}},
		"## Verdict (round 2)\nno":                       {{"", "no"}},
		"## Verdict (round 2): no":                       {{"no", "no"}},
		"## „Verdict“\nno":                               {{"", "no"}},
		"### 3. **Verdict**\nno":                         {{"", "no"}},
		"### 3.1 Verdict\nno":                            {{"", "no"}},
		"### IV. Verdict\nno":                            {{"", "no"}},
		"### Step 2: Verdict\nno":                        {{"", "no"}},
		"### 1️⃣ Verdict\nno":                            {{"", "no"}},
		"## Ver\u200bdict\nno":                           {{"", "no"}},
		"## ＶＥＲＤＩＣＴ：no":                                  {{"no", "no"}},
		"## [Verdict](#verdict)\nno":                     nil,
		"  ## Verdict\nno\n## B\nb":                      {{"", "no"}},
		"- ## Verdict\n  no\n- ## Other\n  b":            {{"", "no"}},
		"Verdict\n=======\n\nno\n\nOther\n=====\nb":      {{"", "no"}},
		"Verdict: no\n---\nwhy":                          {{"", "why"}},
		"**Verdict**\n\nno\n\n**Other**\nb":              {{"", "no"}},
		"**Verdict:** Changes requested\n\n**Other:** b": {{"Changes requested", "Changes requested"}},
		"**Verdict**: no":                                {{"no", "no"}},
		"**Verdict** no":                                 {{"no", "no"}},
		"***Verdict***\nno":                              {{"", "no"}},
		"**Verdict: no**":                                {{"no", "no"}},
		"❌ **Verdict:** no":                              {{"no", "no"}},
		"1. **Verdict:** no\n2. **Other:** b":            {{"no", "no"}},
		"- [x] **Verdict**: no":                          {{"no", "no"}},
		"| Verdict | no |\n| Other | b |":                {{"no", "no"}},
		"| **Verdict** | Why |\n|---|---|\n| no | b |":   {{"Why", "Why |\n|---|---|\n| no | b |"}},
		"## A\n**Verdict:** x\n## Verdict\ny":            {{"", "y"}},
	} {
		got := AllUnder(in, "Verdict")
		same := len(got) == len(want)
		for i := range got {
			same = same && i < len(want) && got[i] == want[i]
		}
		if !same {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
