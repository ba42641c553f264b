//go:build e2e

package stories

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/understudyd/understudy/api"
	"github.com/understudyd/understudy/cmd/internal/cmdtest"
)

// chromium is the one browser of all tests. Each test has its own profile in it.
var chromium struct {
	start sync.Once
	ctx   context.Context
	stop  func()
	err   error
}

func startChromium() {
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.NoSandbox, chromedp.WindowSize(1280, 900))
	for _, flag := range []string{"disable-quic", "no-first-run", "disable-background-networking", "disable-component-update", "disable-sync"} {
		options = append(options, chromedp.Flag(flag, true)) // The browser must send requests to the daemon only.
	}
	// A process for the GPU costs the CPU time of several pages, and a page whose signs move is drawn sixty times a second.
	for _, flag := range []string{"in-process-gpu", "force-prefers-reduced-motion"} {
		options = append(options, chromedp.Flag(flag, true))
	}
	// The headless shell renders and runs pages with the same code as Chromium. It has no windows, menus or
	// extensions, and starts with a third of the CPU time. Without it chromedp looks for an installed browser.
	if path, err := exec.LookPath("chromium-headless-shell"); err == nil {
		options = append(options, chromedp.ExecPath(path))
	}
	allocator, stopAllocator := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, stopBrowser := chromedp.NewContext(allocator)
	chromium.ctx, chromium.err = ctx, chromedp.Do(ctx)
	chromium.stop = func() {
		stopBrowser()
		stopAllocator()
	}
}

func init() { afterTests = append(afterTests, closeChromium) }

// closeChromium ends the browser if a test has started it.
func closeChromium() {
	if chromium.stop != nil {
		chromium.stop()
	}
}

// tab is a page in a person's browser, which is signed in to the rig's dashboard. A problem in it fails the test.
type tab struct {
	r    *rig
	base string // the dashboard's address
	ctx  context.Context

	mu       sync.Mutex
	problems []string
	refused  bool // Failing requests are expected.
	received float64
}

// openDashboard makes the rig listen for browsers, starts it, and signs a browser in. It returns the browser's tab, which shows the
// first page. The rig must not be started yet.
func openDashboard(r *rig) *tab {
	r.t.Helper()
	r.cfg.Settings.Listen = freeAddress(r.t)
	r.start()
	p := newBrowser(r)
	p.signIn()
	return p
}

// newBrowser returns the tab of a browser that is not signed in.
func newBrowser(r *rig) *tab {
	r.t.Helper()
	chromium.start.Do(startChromium)
	if chromium.err != nil {
		r.t.Fatalf("Chromium does not start, install it (apt-get install chromium): %v", chromium.err)
	}
	return newTab(r, chromium.ctx, chromedp.WithNewBrowserContext())
}

// signIn opens a link to the dashboard, and presses the button of its page.
func (p *tab) signIn() {
	p.r.t.Helper()
	link := value(p.r.client.DashboardLink(p.r.t.Context(), api.LinkFor{}))(p.r.t)
	p.do(chromedp.Navigate(link.URL))
	p.takePicture("sign-in")
	p.click("#sign-in")
	p.awaitLive()
}

// openTab opens a page in another tab of the same browser, and waits until the page follows the feed.
func (p *tab) openTab(path string) *tab {
	p.r.t.Helper()
	other := newTab(p.r, p.ctx)
	other.visit(path)
	return other
}

func newTab(r *rig, parent context.Context, options ...chromedp.ContextOption) *tab {
	r.t.Helper()
	ctx, stop := chromedp.NewContext(parent, options...)
	p := &tab{r: r, base: "http://" + r.cfg.Settings.Listen, ctx: ctx}
	r.t.Cleanup(func() {
		stop()
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, problem := range p.problems {
			r.t.Error(problem)
		}
	})
	p.do(chromedp.Func(p.listen))
	return p
}

func (p *tab) listen(ctx context.Context, t *chromedp.Target) error {
	if err := chromedp.Listen(p.ctx, p.note); err != nil {
		return err
	}
	for _, enable := range []func() error{
		func() error { _, err := cdp.Call(ctx, t, runtime.Enable, cdp.Empty{}); return err },
		func() error { _, err := cdp.Call(ctx, t, log.Enable, cdp.Empty{}); return err },
		func() error { _, err := cdp.Call(ctx, t, network.Enable, network.EnableParams{}); return err },
	} {
		if err := enable(); err != nil {
			return err
		}
	}
	return nil
}

// note notes what must not happen in a page: exceptions, the browser's errors, and requests to other hosts.
func (p *tab) note(event any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		p.problems = append(p.problems, fmt.Sprintf("exception: %s %s", e.ExceptionDetails.Text, e.ExceptionDetails.URL))
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError && !p.isExpected(e.Entry) {
			p.problems = append(p.problems, fmt.Sprintf("%s: %s %s", e.Entry.Source, e.Entry.Text, e.Entry.URL))
		}
	case *network.EventRequestWillBeSent:
		if !strings.HasPrefix(e.Request.URL, p.base+"/") {
			p.problems = append(p.problems, "it calls "+e.Request.URL)
		}
	case *network.EventLoadingFinished:
		p.received += e.EncodedDataLength
	}
}

// isExpected says whether an error of the browser is a failing request that is no fault: the test has said so, or the page
// asked for the screen of an agent before it had heard that the agent has ended.
func (p *tab) isExpected(e *log.Entry) bool {
	ended := strings.Contains(e.Text, "400 (Bad Request)") && strings.HasSuffix(e.URL, "/screen?format=html")
	return e.Source == log.EntrySourceNetwork && (p.refused || ended)
}

func (p *tab) visit(path string) {
	p.r.t.Helper()
	p.do(chromedp.Navigate(p.base + path))
	p.awaitLive()
}

// awaitLive waits until the page follows the feed.
func (p *tab) awaitLive() {
	p.r.t.Helper()
	p.do(chromedp.WaitVisible(chromedp.CSS("#light[data-state=live]")), chromedp.WaitVisible(chromedp.CSS("main > *")))
}

func (p *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	p.r.t.Helper()
	if err := chromedp.Do(p.ctx); err != nil { // the tab must outlive the time-out below
		p.r.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(p.ctx, cmdtest.Eventually)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		p.r.t.Fatalf("browser: %v\n%s\n%s", err, p.html(), p.r.report())
	}
}

// html is the page's present address and text, for the report of a failing test.
func (p *tab) html() string {
	ctx, cancel := context.WithTimeout(p.ctx, time.Second)
	defer cancel()
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string]("location.href + '\\n' + document.body.innerText"))
	if err != nil {
		return err.Error()
	}
	return text
}

// eval evaluates a JavaScript expression in the page.
func eval[T any](p *tab, expression string) T {
	p.r.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, cmdtest.Eventually)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		p.r.t.Fatalf("browser: %s: %v", expression, err)
	}
	return v
}

// untilHeld waits in the page until a condition holds. It gives up after a while, because a page that changes to another one forgets
// who waits.
const untilHeld = `(condition => new Promise(done => {
	const end = held => { observer.disconnect(); done(held); };
	const observer = new MutationObserver(() => condition() && end(true));
	observer.observe(document, {subtree: true, childList: true, characterData: true, attributes: true});
	setTimeout(() => end(condition()), 500);
	if (condition()) end(true);
}))`

// awaitThat waits until a JavaScript expression is true in the page.
func (p *tab) awaitThat(what, expression string) {
	p.r.t.Helper()
	p.r.await(what, func() (bool, string) {
		ctx, cancel := context.WithTimeout(p.ctx, cmdtest.Eventually)
		defer cancel()
		held, err := chromedp.Run(ctx, chromedp.Evaluate[bool](untilHeld+"(() => "+expression+")", chromedp.EvalAwaitPromise))
		if err != nil { // the page changes to another one
			return false, err.Error()
		}
		if held {
			return true, ""
		}
		return false, p.html()
	})
}

// awaitText waits until an element shows the text. It ignores case, because CSS may change it.
func (p *tab) awaitText(selector, text string) {
	p.r.t.Helper()
	p.awaitThat(fmt.Sprintf("%q in %s of the page", text, selector),
		fmt.Sprintf("[...document.querySelectorAll(%q)].some(e => e.innerText.toLowerCase().includes(%q))", selector, strings.ToLower(text)))
}

// awaitNone waits until the page has no such element.
func (p *tab) awaitNone(selector string) {
	p.r.t.Helper()
	p.awaitThat("the end of "+selector, fmt.Sprintf("!document.querySelector(%q)", selector))
}

// click presses the middle of the first such element once it is seen. The page follows the feed: it may move the element, or put another one in its
// place, while the button of the mouse goes down and up. Then nothing is clicked, and click aims anew, as a person does.
func (p *tab) click(selector string) {
	p.r.t.Helper()
	p.awaitSeen(selector)
	p.r.await("a click on "+selector, func() (bool, string) {
		at := eval[[]float64](p, fmt.Sprintf(`(selector => {
			sessionStorage.setItem("clicked", "nothing");
			addEventListener("click", event => {
				const hit = document.querySelector(selector)?.contains(event.target);
				sessionStorage.setItem("clicked", hit ? "it" : "something else");
				if (!hit) { event.preventDefault(); event.stopImmediatePropagation(); }
			}, {capture: true, once: true});
			const e = document.querySelector(selector);
			e?.scrollIntoView({block: "nearest", behavior: "instant"});
			const box = e?.getBoundingClientRect() ?? new DOMRect();
			return [box.x + box.width / 2, box.y + box.height / 2];
		})(%q)`, selector))
		p.do(chromedp.MouseClickXY(at[0], at[1]))
		clicked, err := chromedp.Run(p.ctx, chromedp.Evaluate[string](`sessionStorage.getItem("clicked")`))
		return err != nil || clicked == "it", clicked // after an error the page changes to another one
	})
}

func (p *tab) typeInto(selector, text string) {
	p.r.t.Helper()
	p.focus(selector)
	p.do(chromedp.KeyEvent(text))
}

func (p *tab) focus(selector string) {
	p.r.t.Helper()
	p.awaitSeen(selector)
	eval[any](p, fmt.Sprintf("document.querySelector(%q).focus()", selector))
}

func (p *tab) awaitSeen(selector string) {
	p.r.t.Helper()
	p.awaitThat(selector+" on the page", fmt.Sprintf("!!document.querySelector(%q)?.checkVisibility()", selector))
}

// clearField empties a field as a person does.
func (p *tab) clearField(selector string) {
	p.r.t.Helper()
	eval[any](p, fmt.Sprintf("(e => { e.value = ''; e.dispatchEvent(new Event('input', {bubbles: true})); })(document.querySelector(%q))", selector))
}

// bytesReceived is how many bytes the page and everything that it loads have taken so far.
func (p *tab) bytesReceived() float64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.received
}

// setScreen sets the width of the screen and its colour scheme, light or dark.
func (p *tab) setScreen(width int64, scheme string) {
	p.r.t.Helper()
	p.do(chromedp.EmulateViewport(width, 900), chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
		return err
	}))
}

// takePicture keeps a picture of the page in the folder $UNDERSTUDY_SHOTS, if that is set.
func (p *tab) takePicture(name string) {
	p.r.t.Helper()
	dir := os.Getenv("UNDERSTUDY_SHOTS")
	if dir == "" {
		return
	}
	png, err := chromedp.Run(p.ctx, chromedp.FullScreenshot(100))
	if err == nil {
		err = os.MkdirAll(dir, 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644)
	}
	if err != nil {
		p.r.t.Errorf("picture %s: %v", name, err)
	}
}

// wantFits fails if the page is wider than its screen.
func (p *tab) wantFits(what string) {
	p.r.t.Helper()
	wide := eval[[]string](p, `(() => {
		const limit = document.documentElement.clientWidth;
		if (document.documentElement.scrollWidth <= limit) return [];
		return [...document.querySelectorAll('body *')].filter(e => e.getBoundingClientRect().right > limit + 1)
			.map(e => e.tagName + '.' + e.className + ' ' + e.textContent.slice(0, 40));
	})()`)
	if len(wide) > 0 {
		p.r.t.Errorf("%s is wider than the screen:\n%s", what, strings.Join(wide, "\n"))
	}
}
