package agents

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/deliveries"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/runtimes/gemini"
	"github.com/understudyd/understudy/daemon/sight"
	"github.com/understudyd/understudy/data"
	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

// TestLaunchInAHomeOfItsOwn: the launch of a CLI that reads its settings only from a home changes nothing in the user's home but
// what the CLI would change, and what the agent leaves there outlives the launch.
func TestLaunchInAHomeOfItsOwn(t *testing.T) {
	t.Parallel()
	user, root := t.TempDir(), t.TempDir()
	must(t, os.MkdirAll(filepath.Join(user, ".gemini", "commands"), 0o700))
	const settings = `{"general": {"vimMode": true}} // mine`
	must(t, os.WriteFile(filepath.Join(user, ".gemini", "settings.json"), []byte(settings), 0o600))
	rt := gemini.Runtime
	d := testSupervisor(engine.Config{Data: data.At(root), Environ: []string{"HOME=" + user}})
	spec := runtimes.Spec{SessionID: "0220771c-41d7-462a-90eb-109748196fb5", Command: []string{"gemini"}, Dir: d.Data.Launch(7)}
	for range 2 { // the second time after a daemon that was killed
		spec.User = value(d.UserHome(rt.OwnHome, nil))(t)
		l := value(rt.Launch(spec))(t)
		must(t, WriteLinks(l.Links))
		must(t, sight.WriteFiles(l.Files))
		if want := "GEMINI_CLI_TRUSTED_FOLDERS_PATH=" + filepath.Join(user, ".gemini", "trustedFolders.json"); !slices.Contains(l.Env, want) {
			t.Errorf("environment %q, want %s", l.Env, want)
		}
	}
	own := filepath.Join(spec.Dir, "gemini", ".gemini")
	holds(t, "settings", string(value(os.ReadFile(filepath.Join(own, "settings.json")))(t)), `"vimMode":true`)
	for _, name := range []string{"oauth_creds.json", "tmp/chat.jsonl", "commands/c.toml"} { // as the CLI writes them
		if err := os.WriteFile(filepath.Join(own, name), []byte("x"), 0o600); err != nil {
			t.Error(err)
		}
	}
	real := value(filepath.EvalSymlinks(user))(t)
	equal(t, "the transcript is in", d.Lasting(filepath.Join(own, "tmp", "work", "chats", "s.jsonl")), filepath.Join(real, ".gemini", "tmp", "work", "chats", "s.jsonl"))
	equal(t, "another transcript is in", d.Lasting("/elsewhere/s.jsonl"), "/elsewhere/s.jsonl")
	must(t, d.removeLaunchFiles(&daemon.Agent{ID: 7}))
	for name, want := range map[string]string{"settings.json": settings, "oauth_creds.json": "x", "tmp/chat.jsonl": "x", "commands/c.toml": "x"} {
		equal(t, fmt.Sprintf("%s of the user's", name), string(wardentest.Value(os.ReadFile(filepath.Join(user, ".gemini", name)))(t)), want)
	}
}

// TestUserHome: the user's own home is not that of another agent's launch.
func TestUserHome(t *testing.T) {
	t.Parallel()
	own := gemini.Runtime.OwnHome
	for _, c := range []struct {
		environ []string
		want    string
	}{
		{[]string{"HOME=/no/home"}, "/no/home"},
		{[]string{"HOME=/no/home", "GEMINI_CLI_HOME=/no/other"}, "/no/other"},
		{[]string{"HOME=/no/home", "GEMINI_CLI_HOME=/no/launch/7", "UNDERSTUDY_LAUNCH=s"}, "/no/home"},
		{[]string{"HOME=home"}, ""}, {nil, ""},
	} {
		if got, err := testSupervisor(engine.Config{Environ: c.environ}).UserHome(own, nil); (err == nil) != (c.want != "") || err == nil && got.Path != c.want {
			t.Errorf("%q: home %q, %v; want %q", c.environ, got.Path, err, c.want)
		}
	}
	equal(t, "environment", len(wardentest.Value(testSupervisor(engine.Config{Environ: []string{"HOME=/no", "GEMINI_CLI_TRUSTED_FOLDERS_PATH=/mine"}}).UserHome(own, nil))(t).Env), 0)
}

// TestLostPaste: a paste counts as lost once, and only if nothing shows that the text is there or was taken.
func TestLostPaste(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	lost := func(change func(a *daemon.Agent, dl *daemon.Delivery, s *sight.Screen)) bool {
		d := testSupervisor(engine.Config{Clock: func() time.Time { return now }})
		typed := now.Add(-deliveries.LostAfter)
		a := &daemon.Agent{ID: 1, Runtime: "gemini", State: daemon.Idle, AgentTurn: daemon.AgentTurn{LastPrompt: 3}}
		dl := &daemon.Delivery{ID: 2, AgentID: 1, Kind: daemon.KindMessage, State: daemon.DeliveryTyped, TypedAt: &typed, AfterHook: 3}
		s := &sight.Screen{Screen: runtimes.Screen{Composer: true}}
		change(a, dl, s)
		if dl.Evidence == "slow" {
			d.NotePaste(a, dl, &sight.Screen{})
		}
		return d.Lost(a, dl, s)
	}
	for name, c := range map[string]struct {
		change func(a *daemon.Agent, dl *daemon.Delivery, s *sight.Screen)
		want   bool
	}{
		"lost":            {func(*daemon.Agent, *daemon.Delivery, *sight.Screen) {}, true},
		"another runtime": {func(a *daemon.Agent, _ *daemon.Delivery, _ *sight.Screen) { a.Runtime = "claude" }, false},
		"Enter pressed":   {func(_ *daemon.Agent, dl *daemon.Delivery, _ *sight.Screen) { dl.Attempts = 1 }, false},
		"too soon":        {func(_ *daemon.Agent, dl *daemon.Delivery, _ *sight.Screen) { dl.TypedAt = &now }, false},
		"slow tmux":       {func(_ *daemon.Agent, dl *daemon.Delivery, _ *sight.Screen) { dl.Evidence = "slow" }, false},
		"a prompt since":  {func(a *daemon.Agent, _ *daemon.Delivery, _ *sight.Screen) { a.LastPrompt = 4 }, false},
		"a Stop since":    {func(a *daemon.Agent, _ *daemon.Delivery, _ *sight.Screen) { a.LastStop = 4 }, false},
		"a turn":          {func(a *daemon.Agent, _ *daemon.Delivery, _ *sight.Screen) { a.State = daemon.Working }, false},
		"a turn shown":    {func(_ *daemon.Agent, _ *daemon.Delivery, s *sight.Screen) { s.Busy = true }, false},
		"a text":          {func(_ *daemon.Agent, _ *daemon.Delivery, s *sight.Screen) { s.Draft = "x" }, false},
		"no composer":     {func(_ *daemon.Agent, _ *daemon.Delivery, s *sight.Screen) { s.Composer = false }, false},
		"typed again":     {func(_ *daemon.Agent, dl *daemon.Delivery, _ *sight.Screen) { dl.TypedAgain = true }, false},
		"exit":            {func(_ *daemon.Agent, dl *daemon.Delivery, _ *sight.Screen) { dl.Kind = daemon.KindExit }, false},
	} {
		equal(t, name+": lost", lost(c.change), c.want)
	}
}
