package scripted

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// question is what is asked for a handoff document in a copy of a session.
const question = "[handoff_a_b_1_c] understudy: this session is being handed over to a successor. Answer with the document, under exactly these headings:\n\n" +
	"- **## What Was Done**: progress.\n- **## Decisions Made**: a list.\n- **## Open Questions**: blockers.\n- **## Next Agent Context**: next.\n" +
	"- **## current_story**: what the successor must know of it.\n\nFocus on this:\n\nnot a ## Heading\n"

// streamLine is one line of --output-format stream-json.
type streamLine struct {
	Type, Subtype, Result string
	SessionID             string   `json:"session_id"`
	IsError               bool     `json:"is_error"`
	Turns                 int      `json:"num_turns"`
	Errors                []string `json:"errors"`
	Denials               []any    `json:"permission_denials"`
	Message               struct {
		ID, Model string
		Content   json.RawMessage
	}
}

func (l streamLine) kind() string { return strings.Trim(l.Type+"/"+l.Subtype, "/") }

// forked asks the question in a copy of the session and returns the lines and the exit status.
func (r *rig) forked(session, misbehave string, more ...string) ([]streamLine, int) {
	r.t.Helper()
	cmd := r.fork(session, misbehave, more...)
	out, err := cmd.Output()
	if cmd.ProcessState == nil {
		r.t.Fatal(err)
	}
	var lines []streamLine
	for row := range bytes.Lines(out) {
		var l streamLine
		if err := json.Unmarshal(row, &l); err != nil {
			r.t.Fatalf("line %s: %v", row, err)
		}
		lines = append(lines, l)
	}
	return lines, cmd.ProcessState.ExitCode()
}

func (r *rig) fork(session, misbehave string, more ...string) *exec.Cmd {
	cmd := exec.Command(program(r.t), append([]string{"-p", "--resume", session, "--fork-session", "--no-session-persistence",
		"--output-format", "stream-json", "--verbose"}, more...)...)
	cmd.Env = append(r.environ(), "SCRIPTED_AGENT_PIDFILE="+r.dir+"/pids", "SCRIPTED_AGENT="+misbehave)
	cmd.Dir, cmd.Stdin = r.dir, strings.NewReader(question)
	return cmd
}

// spoken is a rig whose session has had a turn and goes on.
func spoken(t *testing.T) *rig {
	t.Helper()
	r := ready(t, "")
	r.prompt("Paint the shed @decide Use red paint: it was cheap")
	r.hooks("SessionStart(startup)", "UserPromptSubmit", "Stop")
	r.idle()
	return r
}

func kinds(lines []streamLine) []string {
	var out []string
	for _, l := range lines {
		out = append(out, l.kind())
	}
	return out
}

// tree is every file below the agent's own directory with its content.
func (r *rig) tree() map[string]string {
	out := map[string]string{}
	err := filepath.WalkDir(r.dir+"/config", func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		out[path] = string(text)
		return err
	})
	must(r.t, err)
	return out
}

func TestFork(t *testing.T) {
	t.Parallel()
	r := spoken(t)
	before := r.tree()
	lines, code := r.forked(sessionID, "")
	want := []string{"system/session_title_changed", "system/init", "assistant", "result/success"}
	if got := kinds(lines); code != 0 || !slices.Equal(got, want) {
		t.Fatalf("exit %d, lines %v, want %v", code, got, want)
	}
	result := lines[3]
	holds(t, "the document", result.Result, "# Handoff from developer-con-1", "Paint the shed", "- Use red paint: it was cheap\n", "\n## current_story\n\nOf this")
	if strings.Contains(result.Result, "## Heading") || lines[2].Message.Model != "claude-opus-5-5" || result.SessionID == sessionID || result.Turns != 1 {
		t.Errorf("%+v", lines)
	}
	after := r.tree()
	equal(t, "files", len(after), len(before))
	for path, text := range before {
		equal(t, path+" was changed", after[path], text)
	}
	byPath, code := r.forked(r.dir+"/config/projects/"+strings.ReplaceAll(r.cwd, "/", "-")+"/"+sessionID+".jsonl", "")
	if code != 0 || !strings.Contains(byPath[3].Result, "Paint the shed") {
		t.Errorf("by its path: exit %d, %+v", code, byPath)
	}
}

// A session of which there is a transcript, but in which nobody has said anything, is none either.
func TestForkOfNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write("answers/SessionStart", `{"hookSpecificOutput":{"hookEventName":"SessionStart","additionalContext":"you are Con"}}`)
	r.start(r.args()...)
	r.idle()
	if len(r.entries("")) == 0 {
		t.Error("there is no transcript")
	}
	for _, id := range []string{sessionID, "aaaaaaaa-0000-4000-8000-000000000002"} {
		lines, code := r.forked(id, "")
		if code != 1 || len(lines) != 1 || lines[0].kind() != "result/error_during_execution" || !lines[0].IsError ||
			!slices.Equal(lines[0].Errors, []string{"No conversation found with session ID: " + id}) {
			t.Errorf("exit %d, %+v", code, lines)
		}
	}
}

func TestForkThatIsRefused(t *testing.T) {
	t.Parallel()
	r := spoken(t)
	lines, code := r.forked(sessionID, "", "--settings",
		`{"disableAllHooks":false,"hooks":{"UserPromptSubmit":[{"hooks":[{"type":"command","command":"echo 'No tools' >&2; exit 2"}]}]}}`)
	if got := strings.Join(kinds(lines)[2:], " "); code != 0 || got != "result/success" || !strings.HasPrefix(lines[len(lines)-1].Result, "UserPromptSubmit operation blocked by hook:\nNo tools") {
		t.Errorf("exit %d, lines %s: %+v", code, got, lines)
	}
}

func TestForkThatHangsEndsAtSIGTERM(t *testing.T) {
	t.Parallel()
	r := spoken(t)
	cmd := r.fork(sessionID, "fork-hang")
	var out bytes.Buffer
	cmd.Stdout = &out
	must(t, cmd.Start())
	r.eventually("its process id", func() bool {
		text, _ := os.ReadFile(r.dir + "/pids")
		return strings.TrimSpace(string(text)) == strconv.Itoa(cmd.Process.Pid)
	})
	must(t, cmd.Process.Signal(syscall.SIGTERM))
	_ = cmd.Wait() // its exit status is what counts
	if code := cmd.ProcessState.ExitCode(); code != 143 || strings.Contains(out.String(), `"result"`) {
		t.Errorf("exit %d, output %s", code, out.String())
	}
}
