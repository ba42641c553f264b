//go:build e2e

package stories

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/understudyd/understudy/daemon/agents"
)

var shotsDir = flag.String("shots", "", "with TestShots: the folder in which the README's pictures are made anew")

// TestShots makes the README's pictures: the first page of the dashboard on a desk and on a phone, and a film of `top`. Without
// -shots it makes them in a folder of its own, so that they can always be made. That is `just shots`.
func TestShots(t *testing.T) {
	t.Parallel()
	dir := *shotsDir
	if dir == "" {
		dir = t.TempDir()
	}
	t.Run("dashboard", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		same := func(text string) string { return text }
		stageScene(r, same, same)
		p := openDashboard(r)
		p.snap(filepath.Join(dir, "dashboard.png"), 1280, 785, "light")
		p.snap(filepath.Join(dir, "phone.png"), 390, 785, "dark")
	})
	t.Run("top", func(t *testing.T) {
		t.Parallel()
		filmTop(newRig(t), filepath.Join(dir, "top.svg"))
	})
}

// snap takes a picture of what a screen of that size shows of the page.
func (p *tab) snap(path string, width, height int64, scheme string) {
	p.r.t.Helper()
	p.setScreen(width, scheme)
	p.do(chromedp.EmulateViewport(width, height))
	png, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	if err == nil {
		err = os.WriteFile(path, png, 0o644)
	}
	if err != nil {
		p.r.t.Fatal(err)
	}
}

// The size of the terminal in the film.
const filmColumns, filmRows = 132, 30

// filmTop films how an operator works with `top`: one agent has finished, one asks for a permission, one is handed over.
func filmTop(r *rig, path string) {
	r.t.Helper()
	r.start()
	for _, a := range []struct{ name, persona, folder, prompt string }{
		{"scans", con, "parcels", "Make two scans within a second count as two @decide The key gets a counter @say The cause is the key of the row: it has no counter. I have added one, migrated the rows, and looked at the three callers. 430 of 430 tests pass."},
		{"invoices", "architect-ivo-1", "billing", "Plan how invoices are split by tenant @say The plan has four parts. The first changes the schema; nothing else can begin before it."},
		{"review", "reviewer-ada-1", "parcels", "Review the branch of the scans @hold " + filepath.Join(r.root, "go-on")},
		{"release", con, "billing", "Put the release together @ask"},
	} {
		dir := filepath.Join(filepath.Dir(r.root), "home", a.folder)
		must(r.t, os.MkdirAll(dir, 0o755))
		r.createAgent(agents.NewAgent{Name: a.name, Persona: a.persona, Cwd: dir, Prompt: a.prompt})
	}
	s := startTop(r, filmColumns, filmRows)
	s.awaitScreen("1 needs you, 2 finished")
	f := s.film(filmColumns, filmRows)
	f.press(2500*time.Millisecond, []string{"Do you want to proceed?"}, "Home")
	f.press(2500*time.Millisecond, []string{"Y allows   Bash(make deploy)"}, "y") // the whole permission, before it can be allowed
	shown := time.Now()
	r.await("the operator has read it", func() (bool, string) { return time.Since(shown) > time.Second, "" })
	s.press("y")
	s.awaitScreen("3 finished")
	f.press(2*time.Second, []string{"─ agent 4 (release)"}, "Escape")
	f.press(2500*time.Millisecond, []string{"─ agent 1 (scans)", "430 of 430 tests pass"}, "Home")
	f.press(time.Second, []string{"Hand off agent 1"}, "h")
	f.typing("its context is full")
	s.press("Enter")
	for _, step := range []string{"handoff", "has ended; agent"} {
		s.awaitScreen(step)
		f.take(1500 * time.Millisecond)
	}
	f.press(4*time.Second, []string{"─ agent 5 (scans)", "I have taken over"}) // the selection goes with the work
	f.save(path, "understudy top: an agent's question is answered, another agent is handed over, and its successor goes on")
}
