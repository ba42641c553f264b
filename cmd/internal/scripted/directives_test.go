package scripted

import (
	"fmt"
	"strings"
	"testing"
)

func TestReport(t *testing.T) {
	t.Parallel()
	r := ready(t, "", "Mend the roof. @report @decide Slate: it lasts\nBy noon.")
	got := r.hooks("SessionStart(startup)", "UserPromptSubmit", "Stop")[2].field("last_assistant_message")
	at := 0
	for _, want := range []string{"## What Was Done\n", "“Mend the roof. @report", "\n## Decisions Made\n", "\n- Slate: it lasts\n",
		"\n## Open Questions\n", "\n## Next Agent Context\n"} {
		next := strings.Index(got[at:], want)
		if next < 0 {
			t.Fatalf("no %q in its place:\n%s", want, got)
		}
		at += next
	}
	if strings.Contains(got, "By noon") {
		t.Errorf("more than the first line of the prompt:\n%s", got)
	}
}

// In a step the report names what the step was told, and --report makes it the ordinary answer there alone.
func TestReportOfAStep(t *testing.T) {
	t.Parallel()
	const prompt = "## Handoff from previous step (developer)\n\n**What was done**: Slated.\n\nCheck it.\n\n" +
		"## Original request\n\nMend the roof.\nBy noon.\n\n[Approval note: Mind the\nchimney.]"
	for _, row := range []struct {
		place        string
		want, absent []string
	}{
		{"You are step 2 of 2 of the pipeline run 1.",
			[]string{"## What Was Done\n\nBegan with what the developer has left. Looked into “Mend the roof”. ", "“Mind the chimney.”"}, []string{"noon", "Check it"}},
		{"You are a reviewer.", []string{"Noted: “"}, []string{"## What Was Done"}},
	} {
		r := newRig(t)
		r.start(r.args("--report", "--append-system-prompt", row.place, "--", prompt)...)
		r.idle()
		got := r.hooks("SessionStart(startup)", "UserPromptSubmit", "Stop")[2].field("last_assistant_message")
		for _, want := range row.want {
			holds(t, row.place, got, want)
		}
		for _, absent := range row.absent {
			if strings.Contains(got, absent) {
				t.Errorf("%s %q in:\n%s", row.place, absent, got)
			}
		}
	}
}

// The first prompt reaches hook and transcript as it was given, unless the CLI takes it for a command.
func TestPositionalPromptIsExact(t *testing.T) {
	t.Parallel()
	for _, prompt := range []string{
		"  \n\tblanks around\n\n ", "CRLF\r\nand a\ttab", "!echo hi", "--help", "exit.", "Request:\n\n/exit", "/home/x is broken", "/a.b", "//exit", strings.Repeat("Grüße 日本\n", 4000),
	} {
		t.Run(fmt.Sprintf("%.16q", prompt), func(t *testing.T) {
			t.Parallel()
			r := ready(t, "", "--", prompt)
			log := r.hooks("SessionStart(startup)", "UserPromptSubmit", "Stop")
			equal(t, "prompt", log[1].field("prompt"), prompt)
		})
	}
}

func TestPositionalCommands(t *testing.T) {
	t.Parallel()
	for prompt, want := range map[string]struct {
		hooks []string
		shows string
		ends  bool
	}{
		"/exit":                    {[]string{"SessionStart(startup)", "SessionEnd(prompt_input_exit)"}, "", true},
		"\n /exit\n\nplease":       {[]string{"SessionStart(startup)", "SessionEnd(prompt_input_exit)"}, "", true},
		":q!":                      {[]string{"SessionStart(startup)", "SessionEnd(prompt_input_exit)"}, "", true},
		"exit\u200b":               {[]string{"SessionStart(startup)", "SessionEnd(prompt_input_exit)"}, "", true},
		"/nosuch is broken":        {[]string{"SessionStart(startup)"}, "Unknown command: /nosuch", false},
		"/":                        {[]string{"SessionStart(startup)"}, "Commands are in the form", false},
		"\u2060/exit":              {[]string{"SessionStart(startup)"}, "❯\u00a0/exit", false},
		"/home/x \u200b is broken": {[]string{"SessionStart(startup)"}, "❯\u00a0/home/x  is broken", false},
		" \n ":                     {[]string{"SessionStart(startup)"}, "", false},
	} {
		t.Run(fmt.Sprintf("%.16q", prompt), func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.start(r.args("--", prompt)...)
			if want.ends {
				r.end(0)
			} else {
				r.sees(want.shows)
			}
			r.hooks(want.hooks...)
			if !want.ends {
				r.idle()
			}
		})
	}
}
