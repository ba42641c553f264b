//go:build e2e

package stories

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/understudyd/understudy/daemon"
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
		b := r.openDashboard()
		same := func(text string) string { return text }
		r.stageScene(same, same)
		p := b.openTab("/")
		p.snap(filepath.Join(dir, "dashboard.png"), 1280, 785, "light")
		p.snap(filepath.Join(dir, "phone.png"), 390, 785, "dark")
	})
	t.Run("top", func(t *testing.T) {
		t.Parallel()
		newRig(t).filmTop(filepath.Join(dir, "top.svg"))
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

// filmTop films how an operator works with `top`: looks, answers, hands over.
func (r *rig) filmTop(path string) {
	r.t.Helper()
	r.start()
	a := r.startAgent(con)
	r.createAgent(daemon.NewAgent{Persona: "reviewer-ada-1", Cwd: r.work})
	r.awaitState(a.ID+1, daemon.Idle)
	r.talk(a.ID, "Make two scans within a second count as two @say The cause is the key of the row: it has no counter. I have added one, and 412 of 430 tests pass.")
	s := r.startTop(110, 24)
	s.awaitScreen("1 finished")
	f := s.film(110, 24)
	f.take(1500 * time.Millisecond)
	f.press(time.Second, []string{"Hand off agent"}, "h")
	f.typing("its context is full")
	s.press("Enter")
	s.awaitScreen("has ended; agent")
	f.take(3 * time.Second)
	f.save(path, "understudy top: an agent is handed over, and its successor goes on")
}
