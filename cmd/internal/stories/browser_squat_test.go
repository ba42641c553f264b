//go:build e2e

package stories

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// squatter is a program that takes the daemon's address while the daemon is away. It keeps the requests that it gets.
type squatter struct {
	mu   sync.Mutex
	sent []*http.Request
}

func (s *squatter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent = append(s.sent, r)
	w.Header().Set("Content-Type", "text/html")
	fmt.Fprint(w, `<!doctype html><title>x</title><body data-watch="all"><nav id="nav"></nav><main id="main"><h1>owned</h1></main><div id="dialogs"></div>`)
}

// taken returns the requests that the squatter got.
func (s *squatter) taken() []*http.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*http.Request(nil), s.sent...)
}

// TestBrowserObeysItsDaemonAlone: a browser that is signed in tells apart its daemon and other programs, also after a break of the
// feed, until it is signed out.
func TestBrowserObeysItsDaemonAlone(t *testing.T) {
	t.Parallel()
	p := openDashboard(newRig(t))
	p.awaitText("main", "No agent is at work") // the daemon has proved itself to the page
	asksForProofAfterAFeedBreak(t, p)
	p.visit("/")
	sendsASquatterNoProof(t, p)
	canBeSignedOut(t, p)
}

// sendsASquatterNoProof: An open tab sends no proof to a program that takes the port of a daemon that is
// away. The tab shows nothing that this program answers. What the program got is worth nothing to the daemon that
// runs again.
func sendsASquatterNoProof(t *testing.T, p *tab) {
	r := p.r
	p.awaitText("main", "No agent is at work")
	p.refused = true
	r.halt()
	p.awaitText("#light[data-state=away]", "the daemon does not answer")
	squat := &squatter{}
	l := value(net.Listen("tcp", r.cfg.Settings.Listen))(t)
	server := &http.Server{Handler: squat}
	served := make(chan struct{})
	go func() {
		_ = server.Serve(l) // until the listener is closed
		close(served)
	}()
	p.awaitText("#light[data-state=stranger]", "another program answers")
	holds(t, "a click while the squatter listens", eval[string](p, "import('/ui/static/actions.js').then(a => a.call('POST /api/agents', {prompt: 'a secret'})).then(() => '', e => e.message)"), "nothing was sent")
	if shown := eval[string](p, "document.body.innerText"); strings.Contains(shown, "owned") {
		t.Errorf("the page shows what the squatter says: %s", shown)
	}
	if err := server.Close(); err != nil {
		t.Error(err)
	}
	<-served

	r.start()
	p.awaitText("#light[data-state=live]", "live")
	sent := squat.taken()
	if len(sent) == 0 {
		t.Fatal("the squatter got nothing: it was not there")
	}
	for _, got := range sent {
		if got.Method != "GET" || got.URL.Path != "/api/dashboard/hello" || got.Header.Get("X-Understudy-Page") != "" {
			t.Errorf("the squatter was sent %s %s with the proof %q", got.Method, got.URL, got.Header.Get("X-Understudy-Page"))
		}
		for _, path := range []string{"/", "/api/agents", "/ui/settings"} {
			again := value(http.NewRequestWithContext(t.Context(), "GET", p.base+path, nil))(t)
			again.Header = got.Header.Clone()
			again.Header.Set("Sec-Fetch-Site", "same-origin")
			res := value(http.DefaultClient.Do(again))(t)
			res.Body.Close()
			// A cookie alone opens only the empty frame of a page.
			if res.StatusCode != http.StatusUnauthorized && res.Header.Get("X-Understudy-Answer") != "" || strings.HasPrefix(path, "/api") && res.StatusCode != http.StatusUnauthorized {
				t.Errorf("%s with the squatter's requests is answered with %s", path, res.Status)
			}
		}
	}
}

// asksForProofAfterAFeedBreak: After each break of the feed the daemon must prove itself again before the
// page sends it a proof. The test replaces the page's fetch, so that each feed ends at once: another program could be
// the next to listen.
func asksForProofAfterAFeedBreak(t *testing.T, p *tab) {
	asked := eval[[]string](p, `(async () => {
		const real = fetch, asked = [];
		const { follow } = await import('/ui/static/feed.js');
		return new Promise(done => {
			window.fetch = (url, how) => {
				const path = new URL(url, location.origin).pathname;
				// The page sends requests of its own meanwhile, and on a busy machine a first proof of its own feed.
				if (path.startsWith('/api/')) asked.push(path);
				if (asked.filter(p => p === '/api/events').length === 3) done([...asked]);
				return path === '/api/events' ? Promise.resolve(new Response('')) : real(url, how);
			};
			follow(() => {});
		});
	})()`)
	between := strings.Split(strings.Join(asked, " "), "/api/events")
	for _, requests := range between[1 : len(between)-1] {
		holds(t, "what the page asked between two feeds", requests, "/api/dashboard/hello")
	}
}

// canBeSignedOut: A person signs one browser out on the settings page, and all browsers at the command
// line.
func canBeSignedOut(t *testing.T, p *tab) {
	p.refused = false
	p.visit("/ui/settings")
	p.awaitText("main", "this browser")
	p.takePicture("signed-in-browsers")
	p.refused = true
	p.click(`button[data-call^="DELETE /api/dashboard/logins/"]`)
	p.awaitText("#confirm", "(this browser)")
	p.click("#confirm [value=yes]")
	p.awaitText("form", "Paste the link") // the page that was there before names the command, too, and goes on to this one
	equal(t, "logins", len(value(p.r.client.Logins(t.Context()))(t)), 0)

	p.signIn()
	value(p.r.client.RevokeLogins(t.Context()))(t)
	p.awaitText("#light[data-state=signed-out]", "understudy dashboard")
}
