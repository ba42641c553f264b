package runtimes

import (
	"fmt"
	"testing"

	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

func TestParseRegistry(t *testing.T) {
	t.Parallel()
	const entry = `{"pid":27700,"sessionId":"2c388fc5-7400-4d26-a96e-14238c0c6a09","cwd":"/home/dev/work","kind":"interactive",
		"tmux":"0:@0.%0","name":"developer-con-1","status":"waiting","waitingFor":"permission prompt","updatedAt":1795192594428}`
	got, err := ParseRegistry([]byte(entry))
	want := Registry{PID: 27700, SessionID: "2c388fc5-7400-4d26-a96e-14238c0c6a09", Status: StatusWaiting,
		WaitingFor: "permission prompt", Cwd: "/home/dev/work", Tmux: "0:@0.%0", Name: "developer-con-1", Kind: "interactive"}
	if err != nil || got != want {
		t.Errorf("got %+v, %v", got, err)
	}
	// A session that is starting has no status yet, and a later version may have other ones.
	for _, s := range []string{`{"pid":1,"sessionId":"x"}`, `{"pid":1,"sessionId":"x","status":"dreaming"}`} {
		equal(t, s, wardentest.Value(ParseRegistry([]byte(s)))(t).Status, StatusUnknown)
	}
	// The agents view has moved a session into a job in the background (2.1.329).
	got, err = ParseRegistry([]byte(`{"pid":1,"sessionId":"x","kind":"interactive","status":"idle","parkedJobId":"d8069c9a"}`))
	if err != nil || got.ParkedJob != "d8069c9a" {
		t.Errorf("a parked session: %+v, %v", got, err)
	}
	got, err = ParseRegistry([]byte(`{"pid":2,"sessionId":"y","kind":"bg","jobId":"d8069c9a","status":"busy"}`))
	if err != nil || got.Kind != KindBackground || got.Job != "d8069c9a" || got.Status != StatusBusy {
		t.Errorf("a job: %+v, %v", got, err)
	}
	// A session in which only commands in the background run has no turn.
	equal(t, "with a command in the background", wardentest.Value(ParseRegistry([]byte(`{"pid":1,"sessionId":"x","status":"shell"}`)))(t).Status, StatusIdle)
	for _, s := range []string{"", "{", "null", "[]", `{"pid":0,"sessionId":"x"}`, `{"pid":1}`, entry[:200]} {
		wardentest.Failed(ParseRegistry([]byte(s)))(t, fmt.Sprintf("%q", s))
	}
	equal(t, "the file of a process", RegistryPath("/c", 12), "/c/sessions/12.json")
}

func TestConfigDir(t *testing.T) {
	t.Parallel()
	env := func(kv ...string) func(string) string {
		return func(name string) string {
			for i := 0; i < len(kv); i += 2 {
				if kv[i] == name {
					return kv[i+1]
				}
			}
			return ""
		}
	}
	equal(t, "the folder that the variable names", ConfigDir(env("HOME", "/h", "CLAUDE_CONFIG_DIR", "/c")), "/c")
	equal(t, "the folder in HOME", ConfigDir(env("HOME", "/h")), "/h/.claude")
	equal(t, "the folder without HOME", ConfigDir(env()), "")
	for path, want := range map[string]string{
		"/h/.claude/projects/-home-dev/2c388fc5.jsonl": "/h/.claude",
		"/h/.claude/projects/2c388fc5.jsonl":           "",
		"/h/.claude/projects/-home-dev/2c388fc5.json":  "",
		"projects/x/y.jsonl":                           "",
		"":                                             "",
	} {
		equal(t, path, ConfigDirOfTranscript(path), want)
	}
}
