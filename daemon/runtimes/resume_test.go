package runtimes

import "testing"

// TestNoConversation: the sentences are those that the CLIs print, in a pane of 120 columns.
func TestNoConversation(t *testing.T) {
	t.Parallel()
	for shown, want := range map[string]string{
		"No conversation found with session ID: 11111111-2222-4333-8444-555555555555\n\nPane is dead":                                                                             "No conversation found with session ID: 11111111-2222-4333-8444-555555555555",
		"WARNING: proceeding\nERROR: No saved session found with ID 11111111-2222-4333-8444-555555555555. Run `codex resume` without an ID to choose f\nrom existing sessions.\n": "ERROR: No saved session found with ID 11111111-2222-4333-8444-555555555555. Run `codex resume` without an ID to choose f",
		"Error resuming session: No previous sessions found for this project.":                                                                                                    "Error resuming session: No previous sessions found for this project.",
		"Error resuming session: Invalid session identifier \"x\".":                                                                                                               "Error resuming session: Invalid session identifier \"x\".",
		"Error: Session not found: ses_3fb5b8f9fffeXYZ":                                                                                                                           "Error: Session not found: ses_3fb5b8f9fffeXYZ",
		"Error: Session \"1\" not found.\nRun `omp --resume` without an argument to pick from recent sessions, or `omp` to start a new one.":                                      "Error: Session \"1\" not found.",
		"Error: command not found": "",
		"Please run /login":        "",
	} {
		equal(t, shown, SaysNoConversation(shown), want)
	}
}
